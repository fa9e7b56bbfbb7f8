//! What can be wrong with the file, each with its place and its remedy.
use std::fmt;
use std::path::PathBuf;

/// The file cannot be used. Hooks fall back to built-in defaults and monitor mode, and record this.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is none.
    #[error("{}: no such file: install etc/triage.toml there, or name another one with --config", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("{}: cannot be read: check that it is a regular file of at most 1 MiB with mode 0644", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others than root can write it, and it names programs that root runs.
    #[error("{}: writable by others than root: chown root and chmod go-w, else it would let them run programs as root", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
    },
    /// It is no TOML, or a value is wrong.
    #[error("{}:{line}:{column}: {}{what}", path.display(), Prefix(key))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1, in characters.
        column: usize,
        /// The key, such as `deadlines.prolog_ms`; empty where the file is no TOML there.
        key: String,
        /// What is wrong and how to mend it.
        what: String,
    },
}

struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

/// Something in the file that has no effect, or surely not the one that was meant. The rest of the file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The key, such as `deadlines.prologue_ms`.
    pub key: String,
    /// What is odd about it, and what to write instead.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path.display(), self.line, self.column, self.what)
    }
}
