//! A trusted source reports a GPU or NVSwitch fault that calls for taking the node out.
use super::{CaseBook, Detector, faults, forced_kill};
use crate::pipeline::Input;
use crate::{CauseClass, ClearedBy, Confidence, Event, JobSpan, Provenance, Resource, Role, RunId};

pub(super) const DETECTOR: Detector = Detector { name: "gpu_fault", detect };

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in events.iter().filter(|event| is_of_a_gpu(event)) {
        if opens_case(event) {
            let (confidence, why) = weigh(input, event);
            book.evidence(event, confidence, run_at(input, event), why);
        } else if corroborates(input, event) {
            book.confirm(event);
        }
    }
}

/// What a state check found has a detector of its own, which also knows the sentence.
fn is_of_a_gpu(event: &Event) -> bool {
    matches!(event.resource, Resource::Gpu(_) | Resource::GpuIndex(_) | Resource::NvSwitch(_))
        && event.provenance == Provenance::Trusted
        && event.clears != ClearedBy::CheckPasses
}

/// Only what may be blamed and asks for the node to go out. An application's Xid never opens a case.
fn opens_case(event: &Event) -> bool {
    event.advice.wants_node_out()
        && matches!(event.class, CauseClass::Hardware | CauseClass::System)
        && matches!(event.role, Role::Root | Role::Either)
}

/// A second source, or the driver's word on what the GPU needs (Xid 154), which names no cause of its own.
fn corroborates(input: &Input<'_>, event: &Event) -> bool {
    (event.role >= Role::Confirmation && event.class == CauseClass::Hardware)
        || (event.advice.wants_node_out()
            && faults::joins_any(&faults::fault_of(input.catalog, event.code.as_str())))
}

fn weigh(input: &Input<'_>, event: &Event) -> (Confidence, String) {
    if faults::fault_of(input.catalog, event.code.as_str()) == "gpu.nvlink"
        && let Some(killed) = forced_kill::before(input, event)
    {
        let seconds = event.at.micros_since(killed) / 1_000_000;
        let why = format!(
            "{} came {seconds} s after a task was killed by SIGKILL: likely its aftermath",
            event.code
        );
        return (Confidence::Suspected, why);
    }
    (event.confidence, format!("{} on {}", event.code, event.resource))
}

/// The run that was on the node at that moment; with GPU lists unknown or overlapping, the current one first.
fn run_at(input: &Input<'_>, event: &Event) -> Option<RunId> {
    let covering = |span: &&JobSpan| span.covers(event.at);
    input.span.iter().chain(&input.spans).find(covering).map(|span| span.run.clone())
}
