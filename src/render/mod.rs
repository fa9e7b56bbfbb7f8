//! Text for people.
mod escape;
mod span;
mod table;

pub(crate) use escape::escape;
pub(crate) use span::{When, ago, parse_when};
pub(crate) use table::Table;
