//! The verdict over a run, at its end on its batch host.
use crate::pipeline::{Input, Trigger};
use crate::reading::NvmlReading;
use crate::{
    Case, CauseClass, Confidence, Culprit, Event, EventId, ExitStatus, JobSpan, NodeName, Payload,
    PeerEvidence, Resource, Verdict, VerdictId,
};

/// How long before a run's first sign of death its own faults may lie. A fault hours before the end with the job
/// running on is not what ended it; NCCL's default timeout is ten minutes, PyTorch's thirty.
const FAULT_TO_DEATH_S: i64 = 45 * 60;

/// A sweep in the epilog sees after the end what happened before it.
const SEEN_AFTER_DEATH_S: i64 = 60;

/// Whether the run ended badly. A run of which nothing is known did not: absence of news is no failure.
pub(crate) fn is_failed(span: &JobSpan) -> bool {
    span.exit.is_some_and(|exit| !exit.is_success())
}

/// The verdict over the run of this epilog: `None` when the run went well, when this is not its batch host, or when
/// nothing is known that could explain it.
pub(crate) fn verdict(input: &Input<'_>, events: &[Event], cases: &[Case]) -> Option<Verdict> {
    let span = input.span.as_ref().filter(|_| input.trigger == Trigger::Epilog)?;
    if !span.is_batch_host() || !is_failed(span) {
        return None;
    }
    let own: Vec<&Case> = cases.iter().filter(|case| explains(span, input, case)).collect();
    let peers: Vec<&PeerEvidence> = input
        .peers
        .get()
        .map(|peers| peers.iter().filter(|peer| peer_explains(span, peer)).collect())
        .unwrap_or_default();
    Some(build(input, span, &own, &peers, events))
}

/// A case explains the run's end when its evidence lies within the run, near its end.
fn explains(span: &JobSpan, input: &Input<'_>, case: &Case) -> bool {
    let end = span.end.unwrap_or(input.now);
    case.boot == span.boot
        && case.last_seen >= span.run.start
        && case.opened_at <= end.plus_secs(SEEN_AFTER_DEATH_S)
        && end.micros_since(case.last_seen) <= FAULT_TO_DEATH_S * 1_000_000
}

/// How sure it is that this case ended the run. A GPU the run did not have may still have: a CUDA start-up looks at
/// all of them. But it is no proof, and an error of the program's own is the likelier cause.
fn sureness(input: &Input<'_>, span: &JobSpan, case: &Case) -> Confidence {
    if is_beside(input, span, case) { Confidence::Suspected } else { case.confidence }
}

/// Faults that reach beyond their GPU: links end on other GPUs, and with one GPU off the bus new CUDA processes can fail
/// on the whole node (reports from the field: CUDA error 999 on every GPU of it).
const SHARED: [&str; 2] = ["gpu.nvlink", "gpu.off_bus"];

/// Whether the run is known to have had GPUs, and the case's is known to be none of them. Slurm counts GPUs by their
/// device files, NVML by their addresses; a GPU that the run's list may mean under either number counts as the run's.
fn is_beside(input: &Input<'_>, span: &JobSpan, case: &Case) -> bool {
    if span.gpus.is_empty() || SHARED.contains(&case.fault.as_str()) {
        return false;
    }
    let numbers: Vec<u32> = match &case.resource {
        Resource::GpuIndex(index) => vec![*index],
        Resource::Gpu(address) => readings(input)
            .flat_map(|reading| &reading.gpus)
            .filter(|gpu| gpu.pci == Some(*address))
            .flat_map(|gpu| [Some(gpu.index), gpu.minor])
            .flatten()
            .collect(),
        _ => return false,
    };
    !numbers.is_empty() && !numbers.iter().any(|number| span.gpus.contains(number))
}

/// The sweeps this pass knows of this boot: its own, and the one before.
fn readings<'a>(input: &'a Input<'_>) -> impl Iterator<Item = &'a NvmlReading> {
    let own = input.observations.iter().filter_map(|observation| match &observation.payload {
        Payload::Nvml(reading) => Some(&**reading),
        _ => None,
    });
    let last = input.last_reading.iter().filter(|(boot, _)| *boot == input.boot).map(|(_, reading)| reading);
    own.chain(last)
}

/// Clocks of two nodes may differ, and a node may see its fault only after the job's end: two minutes of grace.
fn peer_explains(span: &JobSpan, peer: &PeerEvidence) -> bool {
    const SKEW_S: i64 = 120;
    let in_time = peer.at >= span.run.start.plus_secs(-SKEW_S)
        && span.end.is_none_or(|end| peer.at <= end.plus_secs(SKEW_S));
    in_time && peer.job.is_none_or(|job| job == span.run.job) && span.nodes.contains(&peer.node)
}

fn build(
    input: &Input<'_>,
    span: &JobSpan,
    own: &[&Case],
    peers: &[&PeerEvidence],
    events: &[Event],
) -> Verdict {
    let class =
        own.iter().map(|c| c.class).chain(peers.iter().map(|p| p.class)).max().unwrap_or(CauseClass::Unknown);
    let confidence = own
        .iter()
        .filter(|c| c.class == class)
        .map(|c| sureness(input, span, c))
        .chain(peers.iter().filter(|p| p.class == class).map(|p| p.confidence))
        .max()
        .unwrap_or(Confidence::Suspected);
    let mut culprits: Vec<Culprit> = own
        .iter()
        .filter(|c| c.class == class)
        .map(|c| Culprit { node: c.node.clone(), resource: Some(c.resource.clone()) })
        .chain(
            peers
                .iter()
                .filter(|p| p.class == class)
                .map(|p| Culprit { node: p.node.clone(), resource: Some(p.resource.clone()) }),
        )
        .collect();
    culprits.sort();
    culprits.dedup();
    let victims: Vec<NodeName> =
        span.nodes.iter().filter(|node| !culprits.iter().any(|c| c.node == **node)).cloned().collect();
    Verdict {
        id: VerdictId::of(&format!("{:?}", span.run), span.end.unwrap_or(input.now)),
        run: span.run.clone(),
        at: input.now,
        class,
        confidence,
        victims: if culprits.is_empty() { Vec::new() } else { victims },
        cases: own.iter().map(|c| c.id.clone()).chain(peers.iter().map(|p| p.case.clone())).collect(),
        evidence: evidence(input, span, own, events),
        synthetic: own.iter().any(|c| c.synthetic) || peers.iter().any(|p| p.synthetic),
        story: story(input, span, &culprits, own, peers),
        culprits,
    }
}

fn evidence(input: &Input<'_>, span: &JobSpan, own: &[&Case], events: &[Event]) -> Vec<EventId> {
    let mut ids: Vec<EventId> = own.iter().flat_map(|case| case.events.iter().cloned()).collect();
    if ids.is_empty() {
        // Nothing explains it: what the node did say during the run is still worth a look.
        let seen = input.run_events.iter().chain(events).filter(|event| span.covers(event.at));
        ids.extend(seen.map(|event| event.id.clone()).take(16));
    }
    ids
}

fn told(input: &Input<'_>, span: &JobSpan, case: &Case) -> String {
    let beside = if is_beside(input, span, case) { ", a GPU the job did not have" } else { "" };
    format!("{} on {} {} ({}{beside})", case.code, case.node, case.resource, case.confidence)
}

fn story(
    input: &Input<'_>,
    span: &JobSpan,
    culprits: &[Culprit],
    own: &[&Case],
    peers: &[&PeerEvidence],
) -> Vec<String> {
    let how = span.exit.map_or_else(
        || "ended".to_owned(),
        |exit| match exit {
            ExitStatus::Exit(code) => format!("ended with exit code {code}"),
            ExitStatus::Signal(signal) => format!("was ended by signal {signal}"),
        },
    );
    let mut story = vec![format!("job {} {how} on {} nodes", span.run, span.nodes.len().max(1))];
    let mut faults: Vec<(crate::Stamp, String)> = own
        .iter()
        .map(|case| (case.opened_at, told(input, span, case)))
        .chain(peers.iter().map(|peer| {
            (peer.at, format!("{} on {} {} ({})", peer.code, peer.node, peer.resource, peer.confidence))
        }))
        .collect();
    faults.sort();
    for (at, text) in faults.into_iter().take(7) {
        story.push(match span.end {
            Some(end) => format!("{text}, {} s before the end", end.micros_since(at).max(0) / 1_000_000),
            None => text,
        });
    }
    if culprits.is_empty() {
        story.push("no trusted source of the job's nodes reports a fault: the cause is unknown".to_owned());
    }
    story
}
