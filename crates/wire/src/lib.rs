//! The spool record: the only thing the SPANK plugin shares with the rest of slurm-triage.
//!
//! One line of JSON, at most [`MAX_LINE`] bytes, written with one `write`, so that lines of several slurmstepd do not
//! mix. Its last member is a checksum over everything before it: a line that was torn or altered is told from one
//! that was not. Readers ignore members they do not know and do without those that are missing, which is how an
//! incident bundle's `tasks.jsonl`, written by other tools, can be read as well.
//!
//! This crate stays small: it is linked into slurmstepd.
mod crc;
#[cfg(feature = "decode")]
mod decode;
mod encode;
mod record;
mod time;

pub use crc::crc32;
#[cfg(feature = "decode")]
pub use decode::{BadLine, DecodeError, after_torn, decode_all, decode_line};
pub use encode::encode;
pub use record::{End, MAX_LINE, Step, TaskRecord, What, spool_file_name};
