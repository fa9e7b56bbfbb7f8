//! Drills: a synthetic observation that says in its stream's name whether it may act.
//!
//! The word becomes a field of the event, and the case that the event opens stands down unless it is `act`. Streams are
//! named by the edges alone, and only synthetic observations are asked, so that no line of a log can pose as a drill.
use crate::Observation;

/// The field of an event that says whether its drill may act: `act` or `monitor`.
pub const FIELD: &str = "drill";

const STREAM: &str = "drill:";

/// The stream of a drill's observations.
pub const fn stream(act: bool) -> &'static str {
    if act { "drill:act" } else { "drill:monitor" }
}

/// Whether the drill may act, in the word of [`FIELD`]; `None`: it is none.
pub(crate) fn leave(observation: &Observation) -> Option<&str> {
    observation.stream.strip_prefix(STREAM).filter(|_| observation.synthetic)
}
