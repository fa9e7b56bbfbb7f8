//! What this node says of itself.
use crate::arrange::Arrange as _;
use crate::attribute::NodeEvidence;
use crate::pipeline::Input;
use crate::reading::NvmlReading;
use crate::{
    Case, CauseClass, ClearedBy, Event, EventId, JobSpan, Payload, Provenance, Resource, Role, SourceKind,
};

/// How long before a run's end the last evidence of a fault may lie. A fault hours before the end with the job running
/// on is not what ended it; NCCL's default timeout is ten minutes, PyTorch's thirty.
const FAULT_TO_END_S: i64 = 45 * 60;

/// A sweep in the epilog sees after the end what happened before it.
const SEEN_AFTER_END_S: i64 = 30;

/// Most sentences about what could not be seen.
const MOST_BLIND: usize = 8;

pub(super) fn node(input: &Input<'_>, span: &JobSpan, events: &[Event], cases: &[Case]) -> NodeEvidence {
    let all = || input.run_events.iter().chain(events);
    let mut own: Vec<Event> = all().filter(|event| counts(input, span, event)).cloned().collect();
    let stand_ins: Vec<Event> = cases
        .iter()
        .filter(|case| explains(input, span, case))
        .filter_map(|case| stand_in(case, span, &own))
        .collect();
    own.extend(stand_ins);
    own.arrange_by(|a, b| (a.at, a.cursor, &a.id).cmp(&(b.at, b.cursor, &b.id)));
    NodeEvidence {
        node: span.node.clone(),
        kernel_read: input.kernel_read && !all().any(is_lost_news),
        beside: beside(input, span, &own),
        events: own,
        tasks: input.tasks.clone(),
        nvml: sweeps(input).last().cloned(),
        blind: unseen(all()),
        ..NodeEvidence::default()
    }
}

/// Whether an event is of this run's boot and says something of its own. The first sweep after the driver was loaded
/// tells counters that may be of any job before; attribution weighs the sweep itself.
fn counts(input: &Input<'_>, span: &JobSpan, event: &Event) -> bool {
    let first_sweep = input.last_reading.as_ref().is_none_or(|(boot, _)| *boot != input.boot);
    let old_counter = event.source == SourceKind::Nvml && event.code.as_str() == "nvml.ecc_uncorrected";
    event.boot == span.boot && !(old_counter && first_sweep) && !is_a_state(event.clears)
}

/// What a state check finds is dated by when it looked, not by when it began: it never says that a run ended by it.
pub(super) fn is_a_state(clears: ClearedBy) -> bool {
    clears == ClearedBy::CheckPasses
}

/// Whether a case's evidence lies within the run, near its end.
pub(super) fn explains(input: &Input<'_>, span: &JobSpan, case: &Case) -> bool {
    let end = span.end.unwrap_or(input.now);
    case.boot == span.boot
        && case.last_seen >= span.run.start
        && case.opened_at <= end.plus_secs(SEEN_AFTER_END_S)
        && end.micros_since(case.last_seen) <= FAULT_TO_END_S * 1_000_000
}

/// A detector may know more than any single event says: a rate, a repetition, two sources that agree. Such a case
/// speaks for itself.
fn stand_in(case: &Case, span: &JobSpan, events: &[Event]) -> Option<Event> {
    if !matches!(case.class, CauseClass::Hardware | CauseClass::System) || is_a_state(case.clears) {
        return None;
    }
    let of_it =
        |event: &&Event| event.resource == case.resource && matches!(event.role, Role::Root | Role::Either);
    let mut said = events.iter().filter(of_it);
    if said.clone().any(|event| event.confidence >= case.confidence && event.advice >= case.advice) {
        return None;
    }
    let source = said.next().map_or_else(|| source_of(case), |event| event.source);
    Some(Event {
        id: case.events.last().cloned().unwrap_or_else(EventId::default),
        code: case.code.clone(),
        at: span.end.map_or(case.last_seen, |end| case.last_seen.min(end)),
        node: case.node.clone(),
        boot: case.boot.clone(),
        source,
        stream: String::new(),
        cursor: 0,
        provenance: case.provenance,
        synthetic: case.synthetic,
        class: case.class,
        role: Role::Root,
        advice: case.advice,
        confidence: case.confidence,
        clears: case.clears,
        resource: case.resource.clone(),
        fields: std::collections::BTreeMap::new(),
        text: case.why.clone(),
    })
}

fn source_of(case: &Case) -> SourceKind {
    if case.code.as_str().starts_with("nvml.") { SourceKind::Nvml } else { SourceKind::Kmsg }
}

/// The sweeps of this pass.
fn sweeps<'a>(input: &'a Input<'_>) -> impl Iterator<Item = &'a NvmlReading> {
    input.observations.iter().filter(|seen| seen.provenance == Provenance::Trusted).filter_map(|seen| {
        match &seen.payload {
            Payload::Nvml(reading) => Some(&**reading),
            _ => None,
        }
    })
}

/// GPUs that the run is known not to have had, of those that anything was said of.
fn beside(input: &Input<'_>, span: &JobSpan, events: &[Event]) -> Vec<Resource> {
    let mut beside: Vec<Resource> = events
        .iter()
        .map(|event| &event.resource)
        .filter(|resource| is_beside(input, span, resource))
        .cloned()
        .collect();
    for gpu in sweeps(input).flat_map(|reading| &reading.gpus) {
        let names = gpu.pci.map(Resource::Gpu).into_iter().chain([Resource::GpuIndex(gpu.index)]);
        beside.extend(names.filter(|resource| is_beside(input, span, resource)));
    }
    beside.arrange();
    beside.dedup();
    beside
}

/// Whether the run is known to have had GPUs, and this one to be none of them. Slurm counts GPUs by their device files,
/// NVML by their addresses; a GPU that the run's list may mean under either number counts as the run's.
pub(super) fn is_beside(input: &Input<'_>, span: &JobSpan, resource: &Resource) -> bool {
    if span.gpus.is_empty() {
        return false;
    }
    let last = input.last_reading.iter().filter(|(boot, _)| *boot == input.boot).map(|(_, reading)| reading);
    let numbers: Vec<u32> = match resource {
        Resource::GpuIndex(index) => vec![*index],
        Resource::Gpu(address) => sweeps(input)
            .chain(last)
            .flat_map(|reading| &reading.gpus)
            .filter(|gpu| gpu.pci == Some(*address))
            .flat_map(|gpu| [Some(gpu.index), gpu.minor])
            .flatten()
            .collect(),
        _ => return false,
    };
    !numbers.is_empty() && !numbers.iter().any(|number| span.gpus.contains(number))
}

/// Whether the run is known to have the part. A lost GPU often has no address any more: it is whichever of the run's GPUs
/// the newest sweep does not find under another address.
pub(super) fn has_part(input: &Input<'_>, span: &JobSpan, resource: &Resource) -> bool {
    let address = match resource {
        Resource::GpuIndex(index) => return span.gpus.contains(index),
        Resource::Gpu(address) => *address,
        _ => return true,
    };
    let last =
        input.last_reading.as_ref().filter(|(boot, _)| *boot == input.boot).map(|(_, reading)| reading);
    let Some(reading) = sweeps(input).last().or(last) else { return false };
    let others = reading.gpus.iter().filter(|gpu| gpu.pci.is_some_and(|pci| pci != address));
    let others: Vec<u32> = others.flat_map(|gpu| [Some(gpu.index), gpu.minor]).flatten().collect();
    span.gpus.iter().any(|number| !others.contains(number))
}

/// Whether the kernel's log has a hole here: then its silence is no news.
fn is_lost_news(event: &Event) -> bool {
    let kernel = [SourceKind::Kmsg.word(), SourceKind::KernelFile.word()];
    is_about_sources(event) && kernel.contains(&event.stream.as_str())
}

fn is_about_sources(event: &Event) -> bool {
    matches!(event.code.as_str(), "triage.gap" | "triage.source_blind" | "triage.source_hung")
}

fn unseen<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for event in events.filter(|event| is_about_sources(event)) {
        if told.len() < MOST_BLIND && !told.contains(&event.text) {
            told.push(event.text.clone());
        }
    }
    told
}
