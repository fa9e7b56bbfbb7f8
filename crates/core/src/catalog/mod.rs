//! What events mean. (Placeholder until the catalogue lands.)
use crate::{Event, Observation};

/// The compiled catalogue.
#[derive(Debug, Default)]
pub struct Catalog;

impl Catalog {
    /// The event one line means.
    pub fn classify(&self, _observation: &Observation) -> Option<Event> {
        None
    }
}
