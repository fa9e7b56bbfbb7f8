//! What a job printed: from bytes to [`OutputEvent`](crate::attribute::OutputEvent)s, bounded in time and memory whatever the job printed.
//!
//! 1. `gate`: a few short literals tell whole buffers without news from those worth a look, at memory speed.
//! 2. [`prefix`]: label, rank, host, process, time are taken off a line and kept.
//! 3. The catalogue's families for job output tell what the rest means.
//! 4. `trace`: the exception that ends a Python traceback, and torchrun's table of failures, are read over several
//!    lines.
//! 5. `findings`: the first line of each meaning and origin is kept, the rest is counted. A finding after which the
//!    job reported progress again did not end it.
//!
//! Nothing a job prints is trusted, and nothing it prints makes this module panic.
mod findings;
mod gate;
pub mod prefix;
mod report;
mod scan;
mod stamp;
mod trace;
mod wire;

pub use gate::is_candidate;
pub use report::{OutputFile, OutputReport};
pub use scan::{Hints, Scanner, read_line};
pub use stamp::Calendar;
pub use wire::{MOST_FILES, REPORT_CAP, ReportError};

#[cfg(test)]
mod tests;
