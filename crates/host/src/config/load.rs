//! Reading the file.
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use triage_core::arrange::Arrange as _;

use triage_toml::{key_offset, line_column, nearest};

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
        let read = triage_toml::read::<Self>(text).map_err(|fault| {
            let (line, column) = line_column(text, fault.at);
            let what = remedy(&fault.message);
            ConfigError::Invalid { path: path.to_owned(), line, column, key: fault.key, what }
        })?;
        let config = read.value;
        let warning = |key: String, at: usize, meant: Option<&'static str>| {
            let (line, column) = line_column(text, at);
            Warning { path: path.to_owned(), line, column, key, meant }
        };
        let mut warnings: Vec<Warning> =
            read.unknown.into_iter().map(|unknown| warning(unknown.key, unknown.at, unknown.meant)).collect();
        let named = |section: &'static str, name: &str, known: &mut dyn Iterator<Item = &'static str>| {
            let at = key_offset(text, &[section, name]).unwrap_or(0);
            warning(format!("{section}.{name}"), at, nearest(name, known))
        };
        let checks = || triage_core::checks::ALL.iter().map(|check| check.name);
        warnings.extend(unknown_checks(&config).map(|name| named("checks", name, &mut checks())));
        warnings.extend(config.rates.unknown().map(|name| named("rates", name, &mut std::iter::empty())));
        warnings.arrange_by_key(|warning| (warning.line, warning.column));
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
