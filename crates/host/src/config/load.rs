//! Reading the file.
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use triage_core::arrange::Arrange as _;

use triage_toml::{key_offset, line_column, remedy};

use super::{Config, ConfigError, Warning, odd};

/// Where the file is unless `--config` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/slurm-triage/triage.toml";

/// Largest file that is read, bytes.
const MAX_SIZE: u64 = 1024 * 1024;

/// The configuration, and what in it has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What holds.
    pub config: Config,
    /// Keys that no version up to this one knows, and values that surely mean something else.
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
        let invalid = |at: usize, key: String, what: String| {
            let (line, column) = line_column(text, at);
            ConfigError::Invalid { path: path.to_owned(), line, column, key, what }
        };
        let read = triage_toml::read::<Self>(text).map_err(|fault| {
            let what = remedied(&fault.key, &fault.message);
            invalid(fault.at, fault.key, what)
        })?;
        let config = read.value;
        if let Some((key, what)) = odd::fault(&config) {
            return Err(invalid(place(text, &key), key.join("."), what));
        }
        let warning = |key: String, at: usize, what: String| {
            let (line, column) = line_column(text, at);
            Warning { path: path.to_owned(), line, column, key, what }
        };
        let unknown = |key: String, at: usize, meant: Option<&'static str>| {
            let what = format!("unknown key {key} is ignored: {}", instead(&key, meant));
            warning(key, at, what)
        };
        let mut warnings: Vec<Warning> =
            read.unknown.into_iter().map(|key| unknown(key.key, key.at, key.meant)).collect();
        warnings.extend(odd::names(&config).into_iter().map(|(section, name, meant)| {
            unknown(format!("{section}.{name}"), place(text, &[section, name]), meant)
        }));
        warnings.extend(odd::values(&config).into_iter().map(|(key, what)| {
            let dotted = key.join(".");
            let at = place(text, &key);
            let what = format!("{dotted}: {what}");
            warning(dotted, at, what)
        }));
        warnings.arrange_by_key(|warning| (warning.line, warning.column));
        Ok(Loaded { config, warnings })
    }
}

fn place<S: AsRef<str>>(text: &str, key: &[S]) -> usize {
    let key: Vec<&str> = key.iter().map(AsRef::as_ref).collect();
    key_offset(text, &key).unwrap_or(0)
}

/// What to do about a key that nobody knows.
fn instead(key: &str, meant: Option<&str>) -> String {
    let document = match key.split('.').next() {
        Some("rates") => "faults.md",
        Some("checks") => "checks.md",
        _ => "configuration.md",
    };
    meant.map_or_else(
        || format!("check its spelling against docs/{document}, or remove it"),
        |meant| format!("did you mean {meant}?"),
    )
}

/// The reader's message, with what to write instead where it only says what it met.
fn remedied(key: &str, message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    let own = match message.rsplit(' ').next() {
        Some("ExpectMount") => Some("write { path = \"/scratch\" }"),
        Some("ExpectNic") => Some("write { name = \"mlx5_0\" }"),
        _ => None,
    };
    own.or_else(|| remedy(key, &message)).map_or_else(|| message.clone(), |hint| format!("{message}: {hint}"))
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
