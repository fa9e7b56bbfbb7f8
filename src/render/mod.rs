//! Text for people, and the way out for all of it: nothing reaches a terminal that was not escaped.
mod ending;
mod escape;
mod output;
mod page;
mod span;
mod table;

pub(crate) use ending::ending;
pub(crate) use escape::{clip, escape, is_unsafe};
pub(crate) use output::{complain, json, print};
pub(crate) use page::Page;
pub(crate) use span::{
    MOMENTS, SPANS, When, ago, duration, millis, parse_moment, parse_span, parse_when, seconds,
};
pub(crate) use table::Table;

/// `text` with the mark that everything made for a drill or a test carries.
pub(crate) fn marked(text: impl std::fmt::Display, synthetic: bool) -> String {
    if synthetic { format!("{text} (drill)") } else { text.to_string() }
}

/// `1 case`, `3 cases`: for words that take an s.
pub(crate) fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
