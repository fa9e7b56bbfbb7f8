//! From an observation to its event.
use super::{LINE_CAP, Meaning};
use crate::catalog::{Catalog, Origin};
use crate::{Event, EventId, Observation, Payload, drill};

impl Catalog {
    /// What a line that a source said means; `None` for a line without meaning and for what is no line.
    pub fn classify(&self, observation: &Observation) -> Option<Event> {
        let Payload::Line(text) = &observation.payload else { return None };
        let meaning = self.read(Origin::of(observation.source)?, text.as_bytes())?;
        Some(event(observation, text, meaning))
    }
}

fn event(observation: &Observation, text: &str, meaning: Meaning) -> Event {
    let id = EventId::of(
        &observation.node,
        &observation.boot,
        observation.source.word(),
        &observation.stream,
        observation.cursor,
        meaning.code.as_str(),
    );
    let mut fields = meaning.fields;
    fields.extend(drill::leave(observation).map(|leave| (drill::FIELD.to_owned(), leave.to_owned())));
    Event {
        id,
        code: meaning.code,
        at: observation.at,
        node: observation.node.clone(),
        boot: observation.boot.clone(),
        source: observation.source,
        stream: observation.stream.clone(),
        cursor: observation.cursor,
        provenance: observation.provenance,
        synthetic: observation.synthetic,
        class: meaning.class,
        role: meaning.role,
        advice: meaning.action,
        confidence: meaning.confidence,
        clears: meaning.clears,
        resource: meaning.resource,
        fields,
        text: text[..text.floor_char_boundary(LINE_CAP)].to_owned(),
    }
}
