//! The suite about its own eyes: gaps in a source and sources that could not be read. Neither is health, neither
//! is a fault; both are shown.
use std::collections::BTreeMap;

use crate::{
    Advice, CauseClass, ClearedBy, Code, Confidence, Event, EventId, Observation, Payload, Resource, Role,
    SourceKind,
};

/// The event for a gap or a blind source; `None` for every other payload.
pub(crate) fn event(observation: &Observation) -> Option<Event> {
    let source = observation.source.word();
    let (code, text, fields) = match &observation.payload {
        Payload::Gap { from, to } => (
            "triage.gap",
            format!("records {from} to {to} of {source} were overwritten before they were read"),
            BTreeMap::from([("from".to_owned(), from.to_string()), ("to".to_owned(), to.to_string())]),
        ),
        Payload::Blind { reason, hung } => (
            if *hung { "triage.source_hung" } else { "triage.source_blind" },
            format!("{source} could not be read: {reason}"),
            BTreeMap::new(),
        ),
        _ => return None,
    };
    Some(Event {
        id: EventId::of(
            &observation.node,
            &observation.boot,
            SourceKind::Suite.word(),
            source,
            observation.cursor,
            code,
        ),
        code: Code::from(code),
        at: observation.at,
        node: observation.node.clone(),
        boot: observation.boot.clone(),
        source: SourceKind::Suite,
        stream: source.to_owned(),
        cursor: observation.cursor,
        provenance: observation.provenance,
        synthetic: observation.synthetic,
        class: CauseClass::Unknown,
        role: Role::Context,
        advice: Advice::Watch,
        confidence: Confidence::Suspected,
        clears: ClearedBy::None,
        resource: Resource::Source(source.to_owned()),
        fields,
        text,
    })
}
