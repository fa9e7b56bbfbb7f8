//! GPUs through NVML, by way of the probe: it may hang, we do not.
use triage_core::reading::{NvmlReading, NvmlState};
use triage_host::clock::SystemClock;
use triage_host::config::NvmlEnabled;
use triage_host::probe::{Probe, ProbeFailure};
use triage_host::runner::SystemRunner;

use super::finding::Findings;
use super::parts::Checkup;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let nvml = &checkup.site.config.nvml;
    let driver = ["dev/nvidiactl", "proc/driver/nvidia"].iter().any(|path| checkup.root.at(path).exists());
    match nvml.enabled {
        NvmlEnabled::Never => return findings.note("not looked at: [nvml] enabled = \"never\""),
        NvmlEnabled::Auto if !driver && nvml.scenario.is_none() => {
            return findings.note("not looked at: this node has no NVIDIA driver");
        }
        NvmlEnabled::Auto | NvmlEnabled::Always => {}
    }
    let paths = &checkup.site.config.paths;
    let probe = Probe {
        runner: &SystemRunner,
        clock: &SystemClock,
        root: &checkup.root,
        program: paths.libexec.join("triage-probe"),
        library: nvml.library.clone(),
        scenario: nvml.scenario.clone(),
        pid_file: paths.run.join("probe.pid"),
        deadline: checkup.site.config.deadlines.probe,
    };
    match probe.run() {
        Ok(reading) => describe(&reading, findings),
        Err(failure @ (ProbeFailure::Hung { .. } | ProbeFailure::StillHung { .. })) => {
            findings.fail(failure.to_string(), "a GPU or its driver hangs: see dmesg, and boot the node");
        }
        Err(failure @ ProbeFailure::Busy(_)) => findings.warn(failure.to_string(), "try again later"),
        Err(failure) => findings.fail(failure.to_string(), "run triage-probe by hand, as root"),
    }
}

fn describe(reading: &NvmlReading, findings: &mut Findings) {
    let detail = if reading.detail.is_empty() { String::new() } else { format!(": {}", reading.detail) };
    match reading.state {
        NvmlState::Ok => {
            let driver = reading.driver_version.as_deref().unwrap_or("of unknown version");
            findings.ok(format!("{} GPUs, driver {driver}", reading.gpus.len()));
            for gpu in reading.gpus.iter().filter(|gpu| gpu.lost) {
                findings.warn(
                    format!("GPU {} is lost", gpu.index),
                    "slurm-triage status tells what is known of it",
                );
            }
        }
        NvmlState::LibraryMissing => findings.fail(
            format!("no NVML library{detail}"),
            "install the driver's libnvidia-ml.so.1, or correct [nvml] library",
        ),
        NvmlState::DriverNotLoaded => findings
            .fail(format!("the kernel driver is not loaded{detail}"), "modprobe nvidia, and see dmesg"),
        NvmlState::VersionMismatch => findings.fail(
            format!("library and kernel driver are of different versions{detail}"),
            "boot the node after an upgrade of the driver",
        ),
        NvmlState::NoPermission => {
            findings.warn(format!("NVML may not be used{detail}"), "run doctor as root")
        }
        NvmlState::Failed => findings.fail(format!("NVML failed{detail}"), "see dmesg"),
    }
}
