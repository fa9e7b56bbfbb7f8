//! What `scontrol -o show job` and `scontrol -o show node` print. 22.05 has no JSON; the one-line form is the same in all
//! releases.
mod job;
mod node;
mod split;

pub use job::{components, job};
pub use node::nodes;

/// An answer that does not tell what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// It holds no such record, or only the beginning of one.
    #[error("the answer holds no whole record of {0}")]
    Missing(String),
    /// It says one thing twice and differently: some text in it imitates a record.
    #[error(
        "the record of {of} gives {what} twice: its name or comment imitates a record, so it is not believed"
    )]
    Contradiction {
        /// Of whom.
        of: String,
        /// Which field.
        what: &'static str,
    },
}

#[cfg(test)]
mod tests;
