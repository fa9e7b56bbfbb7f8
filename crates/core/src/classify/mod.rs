//! From a line to its meaning. Pure, and no byte sequence makes it panic.
//!
//! 1. [`prefix`] takes the transport's prefix off: time, host, sender.
//! 2. The prefilter looks for the families' literals over a whole buffer; what holds none is never looked at again.
//! 3. [`Catalog::read`](crate::catalog::Catalog::read) tries the families of the literals found, in order.
mod anchors;
mod event;
mod forged;
mod lines;
mod prefilter;
pub mod prefix;
mod read;

pub use lines::Hit;
pub(crate) use prefilter::Prefilter;
pub use read::Meaning;

/// How much of one line is looked at. The longest known kernel message of interest is below 1 KiB, a kmsg record
/// below 8 KiB; what a line holds beyond this is kept nowhere and matched against nothing.
pub const LINE_CAP: usize = 16 * 1024;

/// The part of a line that is looked at.
pub(crate) fn capped(line: &[u8]) -> &[u8] {
    line.get(..LINE_CAP).unwrap_or(line)
}
