//! Reading the file.
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, Deserializer};

use super::locate::{key_at, key_offset, line_column};
use super::{Config, ConfigError, Warning};

/// Where the file is unless `--config` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/slurm-triage/triage.toml";

/// Largest file that is read, bytes.
const MAX_SIZE: u64 = 1024 * 1024;

/// The configuration, and what in it has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What holds.
    pub config: Config,
    /// Keys that no version up to this one knows.
    pub warnings: Vec<Warning>,
}

impl Config {
    /// Reads the file. `%n` in paths stays; see [`Config::for_node`].
    ///
    /// # Errors
    /// When it is missing, unreadable, writable by others while we are root, no TOML, or holds a wrong value.
    pub fn load(path: &Path) -> Result<Loaded, ConfigError> {
        Self::parse(&read(path)?, path)
    }

    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// When it is no TOML or holds a wrong value.
    pub fn parse(text: &str, path: &Path) -> Result<Loaded, ConfigError> {
        let invalid = |error: &toml::de::Error, root: Option<&DeTable<'_>>| {
            let offset = error.span().map_or(0, |span| span.start);
            let (line, column) = line_column(text, offset);
            let key = root.map(|root| key_at(root, offset).join(".")).unwrap_or_default();
            ConfigError::Invalid { path: path.to_owned(), line, column, key, what: remedy(error.message()) }
        };
        let root = DeTable::parse(text).map_err(|error| invalid(&error, None))?;
        let mut unknown: Vec<Vec<String>> = Vec::new();
        let mut ignored = |key: serde_ignored::Path<'_>| unknown.push(parts(&key));
        let reader = serde_ignored::Deserializer::new(Deserializer::from(root.clone()), &mut ignored);
        let config = Self::deserialize(reader).map_err(|error| invalid(&error, Some(root.get_ref())))?;
        let warnings = unknown.iter().map(|key| {
            let (line, column) = line_column(text, key_offset(root.get_ref(), key).unwrap_or(0));
            Warning { path: path.to_owned(), line, column, key: key.join(".") }
        });
        let mut warnings: Vec<Warning> = warnings.collect();
        warnings.extend(unknown_checks(&config).map(|name| {
            let key = vec!["checks".to_owned(), name.to_owned()];
            let (line, column) = line_column(text, key_offset(root.get_ref(), &key).unwrap_or(0));
            Warning { path: path.to_owned(), line, column, key: key.join(".") }
        }));
        warnings.extend(config.rates.unknown().map(|name| {
            let key = vec!["rates".to_owned(), name.to_owned()];
            let (line, column) = line_column(text, key_offset(root.get_ref(), &key).unwrap_or(0));
            Warning { path: path.to_owned(), line, column, key: key.join(".") }
        }));
        warnings.sort_by_key(|warning| (warning.line, warning.column));
        Ok(Loaded { config, warnings })
    }
}

/// Names in `[checks]` that are of no check. A site's own check is named after its file, which may come and go.
fn unknown_checks(config: &Config) -> impl Iterator<Item = &str> {
    let known = |name: &&String| {
        triage_core::checks::find(name).is_none() && !name.starts_with(triage_core::checks::SITE_CODE)
    };
    config.checks.0.keys().filter(known).map(String::as_str)
}

fn parts(path: &serde_ignored::Path<'_>) -> Vec<String> {
    use serde_ignored::Path as P;
    match path {
        P::Root => Vec::new(),
        P::Seq { parent, index } => [parts(parent), vec![index.to_string()]].concat(),
        P::Map { parent, key } => [parts(parent), vec![key.clone()]].concat(),
        P::Some { parent } | P::NewtypeStruct { parent } | P::NewtypeVariant { parent } => parts(parent),
    }
}

/// The reader's message, with what to write instead where it only says what it met.
fn remedy(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    let hint = [
        ("expected u64", "write a whole number without quotes"),
        ("expected a string", "put the value in quotes"),
        ("expected a boolean", "write true or false, without quotes"),
        ("expected a table", "begin the section with its name in brackets"),
        ("expected struct", "begin the section with its name in brackets"),
    ];
    let hint = hint.iter().find(|(met, _)| message.contains(met)).map(|(_, hint)| *hint);
    hint.map_or_else(|| message.clone(), |hint| format!("{message}: {hint}"))
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    // Non-blocking, so that a FIFO in its place does not hold the hook.
    let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => ConfigError::Missing { path: path.to_owned() },
        _ => unreadable(source),
    })?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() || meta.len() > MAX_SIZE {
        return Err(unreadable(std::io::Error::from(std::io::ErrorKind::InvalidInput)));
    }
    let others_write = meta.mode() & 0o022 != 0 || meta.uid() != 0;
    if nix::unistd::geteuid().is_root() && others_write {
        return Err(ConfigError::Unsafe { path: path.to_owned() });
    }
    let mut text = String::new();
    file.take(MAX_SIZE).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}
