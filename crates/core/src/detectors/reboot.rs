//! Faults that a reboot takes away. The proof is a new boot that has run for a while, whose kernel log could be read, and in
//! which the fault did not show. GPUs are judged by what NVML reads of them instead, links by coming up.
use super::{CaseBook, Detector};
use crate::pipeline::{Input, Trigger};
use crate::reading::NvmlState;
use crate::{Case, CaseState, ClearedBy, Event, NodeName, Payload, Resource, Stamp, sweep};

pub(super) const DETECTOR: Detector = Detector { name: "reboot", detect };

/// How long the new boot must have run: drivers are loaded, disks are mounted, what is broken has said so.
const SETTLE_S: i64 = 300;

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    let Some(booted) = input.past.booted.filter(|booted| is_settled(input, *booted)) else { return };
    let open: Vec<Case> = book.open().filter(|case| is_over(input, case, booted)).cloned().collect();
    for case in open {
        if events.iter().any(|event| case.events.contains(&event.id)) {
            continue;
        }
        let why = told(&case.node, booted);
        book.close(&case.id, CaseState::Resolved, input.now, why);
    }
}

fn told(node: &NodeName, booted: Stamp) -> String {
    format!("{node} was booted at {booted} and the fault has not shown since")
}

/// Only a health check that could see everything may say that nothing was there.
fn is_settled(input: &Input<'_>, booted: Stamp) -> bool {
    let blind = |o: &crate::Observation| matches!(o.payload, Payload::Blind { .. } | Payload::Gap { .. });
    input.trigger == Trigger::HealthCheck
        && input.now.micros_since(booted) >= SETTLE_S * 1_000_000
        && !input.observations.iter().any(blind)
}

fn is_over(input: &Input<'_>, case: &Case, booted: Stamp) -> bool {
    // A clock that was ahead saw the fault at a moment that is yet to come.
    let seen_since = (booted..=input.now).contains(&case.last_seen);
    if case.boot == input.boot || seen_since {
        return false;
    }
    match (&case.resource, case.clears) {
        // Said of the GPU itself by NVML; see `clearing.rs`.
        (Resource::Gpu(_) | Resource::GpuIndex(_), _) => false,
        (_, ClearedBy::GpuReset) => all_gpus_are_well(input),
        (_, clears) => matches!(clears, ClearedBy::Reboot | ClearedBy::None),
    }
}

/// A switch has no reading of its own; the GPUs behind it have.
fn all_gpus_are_well(input: &Input<'_>) -> bool {
    input.observations.iter().any(|observation| match &observation.payload {
        Payload::Nvml(reading) => {
            reading.state == NvmlState::Ok
                && !reading.gpus.is_empty()
                && reading.gpus.iter().all(|gpu| sweep::is_healthy(gpu) && gpu.errors.is_empty())
        }
        _ => false,
    })
}
