//! `/etc/slurm-triage/triage.toml`: where things are and how long anything may take. What is done about a fault is
//! not here but in `policy.toml`.
//!
//! Every key has a default, written at its field and, with its unit, in `etc/triage.toml` (a test compares the two).
//! An unknown key is a warning with its line, so that a file for a newer version still serves an older one, and so is a word
//! that means nothing; a value of the wrong type or out of bounds is an error with line, column and remedy.
mod error;
mod load;
mod node;
mod odd;
mod sections;
mod values;

pub use error::{ConfigError, Warning};
pub use load::{DEFAULT_PATH, Loaded};
pub use node::UnsafeNodeName;
pub use sections::{
    Config, Deadlines, KernelLog, KernelLogSource, Ledger, Log, LogLevel, Metrics, Nvml, NvmlEnabled, Output,
    Paths, Slurm,
};

#[cfg(test)]
mod tests;
