//! PyTorch's flight recorder: what every rank was doing in its last collectives.
//!
//! With `TORCH_NCCL_TRACE_BUFFER_SIZE` and `TORCH_NCCL_DUMP_ON_TIMEOUT` set, every rank writes a file when a collective
//! times out: a Python pickle, or JSON. Both are read here without Python and without executing anything. Format:
//! `FlightRecorder` in PyTorch 2.3 to 2.9 (`torch/csrc/distributed/c10d/FlightRecorder*`), version 2 of the dump.
mod dump;
mod pickle;
mod summary;
mod value;

pub use dump::{Dump, Entry, Group};
pub use summary::{Summary, summarise};

/// Why a dump cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlightError {
    /// Neither a pickle nor JSON.
    #[error("neither a pickle nor JSON")]
    NeitherPickleNorJson,
    /// A pickle that ends early, or asks for something that no dump asks for.
    #[error("byte {at}: {problem}")]
    Pickle {
        /// Where.
        at: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// Text that is no JSON.
    #[error("no JSON: {0}")]
    Json(String),
    /// Read, and no flight recorder's dump.
    #[error("no flight recorder dump: it has no entries")]
    NoEntries,
}

#[cfg(test)]
mod tests;
