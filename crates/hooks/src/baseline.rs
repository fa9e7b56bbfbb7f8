//! Learning a baseline by ourselves: once, from a node that nothing speaks against.
use triage_core::baseline::{Baseline, Learned, learn};
use triage_core::checks::{self, CheckState, CheckWord};
use triage_core::facts::NodeFacts;
use triage_core::pipeline::{Output, Trigger};
use triage_core::reading::{GpuReading, NvmlState};
use triage_core::{Case, Payload, SourceKind};
use triage_ledger::Loaded;

use crate::look::Look;

/// A node that was booted lately still brings up its links and mounts: what is not there yet would be learned as not
/// wanted. Seconds; ours.
const SETTLED_S: f64 = 600.0;

/// What the pass learns, where it may: the site lets it, there is none yet, no case is open, nothing was found bad or could
/// not be looked at.
pub(crate) fn learned(trigger: Trigger, loaded: &Loaded, look: &Look, output: &Output) -> Option<Learned> {
    let looked = look
        .checks
        .as_ref()
        .filter(|looked| looked.made && looked.expect.learn && looked.baseline.is_none())?;
    let cases_open = output.cases.iter().chain(&loaded.cases).any(Case::is_open);
    let reading = look.reading.as_ref().filter(|reading| !reading.synthetic).map(|reading| &reading.reading);
    let fit = trigger == Trigger::HealthCheck
        && !cases_open
        && is_settled(&looked.facts)
        && !nvml_is_blind(look)
        && reading.is_none_or(|reading| reading.state == NvmlState::Ok)
        && reading.is_none_or(|reading| reading.gpus.iter().all(is_readable))
        && output.checks.iter().all(|state| !is_ours(&state.name) || speaks_for(state));
    let baseline =
        fit.then(|| learn(&looked.facts, reading)).filter(|baseline| !Baseline::is_empty(baseline))?;
    let why = "the first health check that found nothing wrong".to_owned();
    Some(Learned { baseline, by: String::new(), why })
}

fn is_readable(gpu: &GpuReading) -> bool {
    !gpu.lost && gpu.errors.is_empty()
}

fn is_settled(facts: &NodeFacts) -> bool {
    let kernel = facts.kernel.as_ref().and_then(|sheet| sheet.said.as_ref());
    kernel.and_then(|kernel| kernel.uptime_s).is_some_and(|uptime| uptime >= SETTLED_S)
}

fn nvml_is_blind(look: &Look) -> bool {
    let blind = |payload: &Payload| matches!(payload, Payload::Blind { .. });
    look.observations.iter().any(|seen| seen.source == SourceKind::Nvml && blind(&seen.payload))
}

/// What has to stay bad for a while before it counts is no reason to wait, but where it is about what is learned: a GPU
/// that is away for a moment would be learned as not there.
fn speaks_for(state: &CheckState) -> bool {
    let learned = ["gpu_", "nic_", "memory", "mount", "services", "disks"];
    state.is_clean()
        || (state.state != CheckWord::Bad && !learned.iter().any(|prefix| state.name.starts_with(prefix)))
}

/// A site's own check may be about anything.
fn is_ours(name: &str) -> bool {
    checks::find(name).is_some()
}
