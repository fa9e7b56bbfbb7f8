//! What the other nodes of the run told of themselves.
use std::collections::BTreeMap;

use super::first_end;
use crate::attribute::NodeEvidence;
use crate::pipeline::Input;
use crate::{
    Advice, BootId, ClearedBy, Event, EventId, JobSpan, NodeName, PeerEvidence, Provenance, Role, SourceKind,
    Stamp,
};

/// Clocks of two nodes may differ, and a node may see its fault only after the job's end: two minutes of grace.
const SKEW_S: i64 = 120;

/// The node by its own word: nothing is known of its tasks, nor of what it did not tell.
pub(super) fn node(input: &Input<'_>, span: &JobSpan, name: &NodeName) -> NodeEvidence {
    let told = explaining(input, span).filter(|peer| peer.node == *name);
    let events = told.map(|peer| event(peer, moment(input, span, peer))).collect();
    NodeEvidence { node: name.clone(), told_only: true, events, ..NodeEvidence::default() }
}

/// What peers told that can be of this run.
pub(super) fn explaining<'a>(
    input: &'a Input<'_>,
    span: &'a JobSpan,
) -> impl Iterator<Item = &'a PeerEvidence> {
    let told = input.peers.get().map(Vec::as_slice).unwrap_or_default();
    told.iter().filter(move |peer| explains(span, peer))
}

fn explains(span: &JobSpan, peer: &PeerEvidence) -> bool {
    let in_time = peer.at >= span.run.start.plus_secs(-SKEW_S)
        && span.end.is_none_or(|end| peer.at <= end.plus_secs(SKEW_S));
    in_time
        && peer.job.is_none_or(|job| job == span.run.job)
        && peer.node != span.node
        && span.nodes.contains(&peer.node)
}

/// When it was. What its node saw within the grace after the first task here had ended may have come before.
fn moment(input: &Input<'_>, span: &JobSpan, peer: &PeerEvidence) -> Stamp {
    let first = first_end(input, span);
    let late = peer.at.micros_since(first);
    let at = if late > 0 && late <= SKEW_S * 1_000_000 { first } else { peer.at };
    at.max(span.run.start)
}

/// A node tells only of faults for which it wants to go out.
fn event(peer: &PeerEvidence, at: Stamp) -> Event {
    let source = SourceKind::Slurm;
    Event {
        id: EventId::of(&peer.node, &BootId::default(), source.word(), "", 0, peer.case.as_str()),
        code: peer.code.clone(),
        at,
        node: peer.node.clone(),
        boot: BootId::default(),
        source,
        stream: String::new(),
        cursor: 0,
        provenance: Provenance::Trusted,
        synthetic: peer.synthetic,
        class: peer.class,
        role: Role::Root,
        advice: Advice::Drain,
        confidence: peer.confidence,
        clears: ClearedBy::None,
        resource: peer.resource.clone(),
        fields: BTreeMap::new(),
        text: format!("{} on {}, by its own word (case {})", peer.code, peer.resource, peer.case),
    }
}
