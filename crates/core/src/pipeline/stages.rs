//! The stages in their order.
use crate::arrange::Arrange as _;
use crate::arrange::Gather as _;
use std::collections::{BTreeMap, BTreeSet};

use super::{Input, Need, Output, Trigger};
use crate::detectors::CaseBook;
use crate::still::Looks;
use crate::{
    Action, Case, CaseId, CauseClass, Confidence, Decision, Event, EventId, Observation, Payload, Provenance,
    Role, Verdict, checks, decide, detectors, judge, serd, sources, sweep,
};

/// Events of one code on one resource that a single pass keeps. A crashing job can log the same Xid a hundred
/// thousand times; what is beyond the bound is counted.
const KEPT_PER_CODE_AND_RESOURCE: usize = 64;

/// One pass: from what the sources said to what is to be done about it. Pure and deterministic.
///
/// When the output names [`Need`]s, the caller asks the controller, fills the answers into the input and calls
/// again. Asking twice is harmless: every id is a digest of what it names.
pub fn step(input: &Input<'_>) -> Output {
    let mut output = Output::default();
    let mut events = classify(input);
    output.repeats = bound(&mut events);
    let mut checked = checks::run(input);
    events.append(&mut checked.events);
    let mut fed = serd::feed(input, &events);
    events.append(&mut fed.fired);

    let mut book = CaseBook::new(input);
    for detector in detectors::ALL {
        (detector.detect)(input, &events, &mut book);
    }
    detectors::close_what_passes(input, &checked, &mut book);
    let cases = book.all();

    output.needs = needs(input, &cases, book.undone_is_possible());
    if output.needs.is_empty() {
        let verdict = judge::verdict(input, &events, &cases);
        borne_out(verdict.as_ref(), &cases).for_each(|id| book.bear_out(id));
        let cases = book.all();
        let decided = decide::decide(input, &cases, verdict.as_ref(), &Looks::new(input, &checked, &cases));
        if asks_for_fleet(input, &decided.actions) {
            output.needs.push(Need::Fleet);
        } else {
            output.decisions = decided.decisions;
            output.actions = decided.actions;
            output.verdicts.extend(verdict);
        }
    }
    output.cases = book.changed();
    output.engines = fed.changed;
    output.engines.append(&mut book.take_marks());
    output.events = events;
    output.checks = checked.states;
    output
}

/// Cases of this node that a confirmed verdict on trusted evidence blames.
fn borne_out<'a>(verdict: Option<&'a Verdict>, cases: &'a [Case]) -> impl Iterator<Item = &'a CaseId> {
    let sure = verdict
        .filter(|verdict| verdict.confidence == Confidence::Confirmed && verdict.grounds.trusted)
        .into_iter();
    sure.flat_map(move |verdict| {
        let blamed = |case: &&Case| {
            case.class == verdict.class
                && case.provenance == Provenance::Trusted
                && verdict.culprits.iter().any(|culprit| {
                    culprit.node == case.node && culprit.resource.as_ref() == Some(&case.resource)
                })
        };
        cases.iter().filter(blamed).map(|case| &case.id)
    })
}

/// What the policy makes of cases and a verdict that are given: the last stage alone, for trying a policy out. Nothing
/// is asked for; what the input does not hold is taken as not known.
pub fn weigh(input: &Input<'_>, cases: &[Case], verdict: Option<&Verdict>) -> (Vec<Decision>, Vec<Action>) {
    let decided = decide::decide(input, cases, verdict, &Looks::default());
    (decided.decisions, decided.actions)
}

/// Observations with a meaning, oldest first, each once. Noise is not an event.
fn classify(input: &Input<'_>) -> Vec<Event> {
    let mut events: Vec<Event> = input.observations.iter().flat_map(|o| events_of(input, o)).collect();
    events.retain(|event| event.role != Role::Noise);
    events.arrange_by(|a, b| (a.at, a.cursor, &a.id).cmp(&(b.at, b.cursor, &b.id)));
    let mut seen: BTreeSet<EventId> = input.run_events.iter().map(|e| e.id.clone()).into_set();
    events.retain(|event| seen.insert(event.id.clone()));
    events
}

fn events_of(input: &Input<'_>, observation: &Observation) -> Vec<Event> {
    match &observation.payload {
        Payload::Line(_) => input.catalog.classify(observation).into_iter().collect(),
        Payload::Nvml(reading) => {
            let before = input.last_reading.as_ref().map(|(boot, last)| (boot, last));
            sweep::events(Some(input), observation, reading, before)
        }
        Payload::Gap { .. } | Payload::Blind { .. } => sources::event(observation).into_iter().collect(),
        Payload::Task(_) => Vec::new(),
    }
}

/// Keeps the first of each code and resource and counts the rest.
fn bound(events: &mut Vec<Event>) -> BTreeMap<String, u64> {
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut repeats = BTreeMap::new();
    events.retain(|event| {
        let count = seen.entry((event.code.to_string(), event.resource.to_string())).or_default();
        *count += 1;
        let keep = *count <= KEPT_PER_CODE_AND_RESOURCE;
        if !keep {
            *repeats.entry(event.code.to_string()).or_default() += 1;
        }
        keep
    });
    repeats
}

/// Whether a node is about to be taken out and nobody has counted the others yet. A prolog counts nobody, as it asks the
/// controller nothing; the next health check looks at what it did.
fn asks_for_fleet(input: &Input<'_>, actions: &[crate::Action]) -> bool {
    input.trigger != Trigger::Prolog
        && input.fleet.is_open()
        && !input.node_record.get().is_some_and(crate::fleet::is_out_by_us)
        && actions.iter().any(|action| matches!(action, crate::Action::Drain { .. }))
}

/// Whether a fault of this node, seen while the run was on it, is likely enough to ask no other node.
fn explains(case: &crate::Case, span: &crate::JobSpan) -> bool {
    case.is_open()
        && case.advice.wants_node_out()
        && case.confidence >= Confidence::Probable
        && matches!(case.class, CauseClass::Hardware | CauseClass::System)
        && case.last_seen >= span.run.start
}

/// What must be asked. A healthy node with a healthy job asks nothing.
fn needs(input: &Input<'_>, cases: &[crate::Case], undone_is_possible: bool) -> Vec<Need> {
    let mut needs = Vec::new();
    // The prolog never talks to the controller: slurmctld waits for it, and a refusal needs no answer.
    if input.trigger == Trigger::Prolog {
        return needs;
    }
    let wants_node_out = cases.iter().any(|case| case.is_open() && case.advice.wants_node_out());
    let comes_back = decide::repair::is_of_interest(input);
    if (wants_node_out || undone_is_possible || comes_back) && input.node_record.is_open() {
        needs.push(Need::Node);
    }
    let judged = judge::judged(input);
    let asks_for_history = input.policy.asks_for_history() && cases.iter().any(crate::Case::is_open);
    if (judged.is_some() || asks_for_history) && input.memory.is_open() {
        needs.push(Need::Memory);
    }
    if input.running.is_open() && decide::running::is_of_interest(input, cases) {
        needs.push(Need::Running);
    }
    let Some(span) = judged else { return needs };
    // With a fault of this node's own the job is explained; a peer that has one too drains itself.
    let explained = cases.iter().any(|case| explains(case, span));
    let ask_peers = span.nodes.len() > 1 && !explained && input.peers.is_open();
    if ask_peers {
        needs.push(Need::Peers);
    }
    if input.job.is_open() {
        needs.push(Need::Job);
    }
    // Where the output is, the job's record tells.
    let open = input.output.is_open() && !ask_peers && !input.job.is_open();
    if open && judge::wants_output(input, span, cases) {
        needs.push(Need::Output);
    } else if open && input.progress.is_open() && judge::wants_progress(input, span) {
        needs.push(Need::Progress);
    }
    needs
}
