//! What jobs left on the GPUs. Reported, never killed.
use super::super::{Check, CheckInput, Findings, Threshold};
use super::{GPU, driver, gpus, resource};
use crate::CauseClass;
use crate::reading::GpuReading;

/// Services that may be on a GPU for good.
const RESIDENT: &[&str] =
    &["nvidia-persiste", "nv-hostengine", "nvidia-cuda-mps", "dcgm-exporter", "dcgmproftester", "Xorg"];

/// A process that belongs to no job, on a GPU that jobs are given.
pub(in super::super) const LEFT_PROCESSES: Check = Check {
    name: "gpu_left_processes",
    finds: "a process on a GPU that belongs to no job of this node",
    class: CauseClass::System,
    bad_for_s: 120,
    good_for_s: 0,
    evaluate: processes,
    ..GPU
};

fn processes(input: &CheckInput<'_>, findings: &mut Findings) {
    let all = gpus(input, findings);
    let Some(driver) = driver(input) else { return };
    for gpu in all.into_iter().filter(|gpu| !may_be_in_use(input, gpu)) {
        for process in &gpu.processes {
            // Without an entry in /proc it is of another pid namespace or just ended: nobody can say whose it is.
            let owner = driver.owners.iter().find(|owner| owner.pid == process.pid && !owner.name.is_empty());
            let Some(owner) = owner.filter(|owner| owner.job.is_none() && !is_resident(&owner.name)) else {
                continue;
            };
            let uid = owner.uid.map(|uid| format!(" of uid {uid}")).unwrap_or_default();
            findings.likely(
                resource(gpu),
                format!("GPU {}: process {} ({}){uid} is in no job", gpu.index, owner.pid, owner.name),
            );
        }
    }
}

fn is_resident(name: &str) -> bool {
    RESIDENT.iter().any(|known| name.starts_with(known))
}

/// Memory in use with nobody there: freed by nothing but a reset.
pub(in super::super) const LEFT_MEMORY: Check = Check {
    name: "gpu_left_memory",
    finds: "GPU memory in use with no process and no job on the GPU",
    class: CauseClass::System,
    threshold: Some(Threshold {
        value: 512.0,
        unit: "MiB, at least",
        source: "ours; an idle board holds tens of MiB, one with MIG instances some hundred",
    }),
    bad_for_s: 120,
    good_for_s: 0,
    evaluate: memory,
    ..GPU
};

fn memory(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings) {
        let idle = gpu.processes.is_empty() && !may_be_in_use(input, gpu);
        let Some(used) = gpu.memory_used.filter(|_| idle) else { continue };
        let mib = used / (1024 * 1024);
        #[expect(clippy::cast_precision_loss, reason = "MiB of a GPU")]
        if mib as f64 >= input.setting.threshold {
            findings.likely(
                resource(gpu),
                format!("GPU {}: {mib} MiB in use, and no process and no job is on it", gpu.index),
            );
        }
    }
}

/// Whether a job on the node may have this GPU. One whose GPUs are not known may have any.
fn may_be_in_use(input: &CheckInput<'_>, gpu: &GpuReading) -> bool {
    let mut running = input.running();
    running.any(|span| {
        span.gpus.is_empty()
            || span.gpus.contains(&gpu.index)
            || gpu.minor.is_some_and(|m| span.gpus.contains(&m))
    })
}
