//! An attribution as the ledger keeps it: with the cases and events it rests on.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use super::{own, peers};
use crate::attribute::Attribution;
use crate::pipeline::Input;
use crate::{
    Case, Culprit, Discounted, Event, EventId, Evidence, Grounds, JobSpan, NodeName, PeerEvidence, Resource,
    Verdict, VerdictId,
};

/// Most pieces of evidence, of what was discounted, and of what was not seen, that are kept.
const KEPT: usize = 16;

/// Most bytes kept of one text: a line that explains a run is readable at that length.
const TEXT: usize = 400;

/// Events of the run kept where nothing else explains it.
const LOOSE: usize = 16;

pub(super) fn verdict(
    input: &Input<'_>,
    span: &JobSpan,
    events: &[Event],
    cases: &[Case],
    found: Attribution,
) -> Verdict {
    let known: Vec<&Event> = input.run_events.iter().chain(events).collect();
    let own: Vec<&Case> =
        cases.iter().filter(|case| own::explains(input, span, case) && is_named(&found, case)).collect();
    let told: Vec<&PeerEvidence> = peers::explaining(input, span)
        .filter(|peer| blames(&found.culprits, &peer.node, &peer.resource))
        .collect();
    let evidence = evidence(&found, span, &own, &known);
    let drill = |event: &&&Event| event.synthetic && evidence.contains(&event.id);
    let (code, resource) = found.lead();
    Verdict {
        id: VerdictId::of(&format!("{:?}", span.run), span.end.unwrap_or(input.now)),
        run: span.run.clone(),
        at: input.now,
        class: found.class,
        confidence: found.confidence,
        victims: found.victims,
        cases: own.iter().map(|c| c.id.clone()).chain(told.iter().map(|p| p.case.clone())).collect(),
        synthetic: own.iter().any(|case| case.synthetic)
            || told.iter().any(|peer| peer.synthetic)
            || known.iter().any(|event| drill(&event)),
        evidence,
        story: found.story,
        culprits: found.culprits,
        grounds: Grounds {
            rule: found.rule.to_owned(),
            code,
            resource: Some(resource).filter(|resource| *resource != Resource::Job),
            trusted: found.trusted,
            told: found.evidence.into_iter().take(KEPT).map(clipped).chain(input.how_far().told()).collect(),
            discounted: found.discounted.into_iter().take(KEPT).map(set_aside).collect(),
            blind: found.blind.into_iter().take(KEPT).map(|text| short(&text)).collect(),
        },
    }
}

/// Whether the attribution speaks of the case: names its part, or rests on its evidence.
fn is_named(found: &Attribution, case: &Case) -> bool {
    let cited =
        |event: &EventId| found.evidence.iter().any(|evidence| evidence.event.as_ref() == Some(event));
    blames(&found.culprits, &case.node, &case.resource) || case.events.iter().any(cited)
}

fn blames(culprits: &[Culprit], node: &NodeName, resource: &Resource) -> bool {
    culprits.iter().any(|culprit| {
        culprit.node == *node && culprit.resource.as_ref().is_none_or(|named| named == resource)
    })
}

/// Events of the ledger that it rests on. Where there are none, what the node did say during the run is still worth
/// a look.
fn evidence(found: &Attribution, span: &JobSpan, own: &[&Case], known: &[&Event]) -> Vec<EventId> {
    let ids: BTreeSet<&EventId> = known.iter().map(|event| &event.id).into_set();
    let cited = found.evidence.iter().filter_map(|evidence| evidence.event.as_ref());
    let mut rests_on: Vec<EventId> = cited.filter(|id| ids.contains(id)).cloned().collect();
    for id in own.iter().flat_map(|case| &case.events) {
        if !rests_on.contains(id) {
            rests_on.push(id.clone());
        }
    }
    if rests_on.is_empty() {
        let seen = known.iter().filter(|event| span.covers(event.at));
        rests_on.extend(seen.map(|event| event.id.clone()).take(LOOSE));
    }
    rests_on
}

fn clipped(evidence: Evidence) -> Evidence {
    Evidence { text: short(&evidence.text), ..evidence }
}

fn set_aside(discounted: Discounted) -> Discounted {
    Discounted { evidence: clipped(discounted.evidence), ..discounted }
}

fn short(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    let end = (0..=TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
