//! GPUs of one node should be alike, and be those that were admitted.
use std::collections::BTreeMap;

use super::super::expect::said;
use super::super::{Check, CheckInput, Findings};
use super::{GPU, driver, gpus, resource, sweep};
use crate::reading::{GpuReading, NvmlReading};
use crate::{CauseClass, Resource};

/// Mixed firmware is what is left of a repair; it makes one GPU of eight slower or stranger than the others.
pub(in super::super) const VERSIONS: Check = Check {
    name: "gpu_versions",
    finds: "driver, VBIOS or InfoROM other than expected, or other than on the node's other GPUs",
    class: CauseClass::System,
    good_for_s: 0,
    evaluate: versions,
    ..GPU
};

type Version = fn(&GpuReading) -> Option<&str>;

fn versions(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(reading) = sweep(input, findings) else { return };
    driver_version(input, reading, findings);
    let all = gpus(input, findings);
    let vbios: Version = |gpu| gpu.vbios.as_deref();
    let inforom: Version = |gpu| gpu.inforom.as_deref();
    let model: Version = |gpu| gpu.name.as_deref();
    for (what, version, expected) in [
        ("VBIOS", vbios, said(&input.expect.vbios)),
        ("InfoROM", inforom, None),
        ("model", model, said(&input.expect.gpu_model)),
    ] {
        match expected {
            Some(expected) => unlike(&all, what, version, |_| Some(expected), "expected", findings),
            None => {
                let common = most_common(&all, version);
                let of_model =
                    |gpu: &GpuReading| common.get(gpu.name.as_deref().unwrap_or_default()).copied();
                unlike(&all, what, version, of_model, "on most others", findings);
            }
        }
    }
}

fn unlike<'a>(
    all: &[&'a GpuReading],
    what: &str,
    version: Version,
    expected: impl Fn(&GpuReading) -> Option<&'a str>,
    by: &str,
    findings: &mut Findings,
) {
    for gpu in all {
        let Some((has, wants)) = version(gpu).zip(expected(gpu)) else { continue };
        if has != wants {
            findings.certain(resource(gpu), format!("GPU {}: {what} {has}, {wants} {by}", gpu.index));
        }
    }
}

/// The version that more than half of the GPUs of one model have.
fn most_common<'a>(all: &[&'a GpuReading], version: Version) -> BTreeMap<&'a str, &'a str> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for gpu in all {
        let model = gpu.name.as_deref().unwrap_or_default();
        if let Some(version) = version(gpu) {
            *counts.entry((model, version)).or_default() += 1;
            *totals.entry(model).or_default() += 1;
        }
    }
    let most = counts
        .into_iter()
        .filter(|((model, _), count)| totals.get(model).is_some_and(|all| count * 2 > *all));
    most.map(|(key, _)| key).collect()
}

fn driver_version(input: &CheckInput<'_>, reading: &NvmlReading, findings: &mut Findings) {
    let Some(version) = reading.driver_version.as_deref() else { return };
    let service = || Resource::Service("nvidia-driver".to_owned());
    if let Some(expected) = said(&input.expect.driver).filter(|expected| *expected != version) {
        findings.certain(service(), format!("driver {version}, {expected} expected"));
    }
    // What a driver package update without a reboot leaves behind.
    let loaded = driver(input).and_then(|driver| driver.version.as_deref());
    if let Some(loaded) = loaded.filter(|loaded| *loaded != version) {
        findings.likely(service(), format!("driver {version} by NVML, {loaded} loaded in the kernel"));
    }
}

/// A board that was swapped is no fault, and its history stays with the old one.
pub(in super::super) const IDENTITY: Check = Check {
    name: "gpu_identity",
    finds: "another board in a slot than when the baseline was learned",
    class: CauseClass::System,
    good_for_s: 0,
    evaluate: identity,
    ..GPU
};

fn identity(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(baseline) = input.baseline else {
        findings.remark("no baseline to compare with");
        return;
    };
    for gpu in gpus(input, findings) {
        let Some(then) = gpu.pci.and_then(|address| baseline.at(address)) else { continue };
        let Some((now, was)) = gpu.serial.as_deref().zip(then.serial.as_deref()).filter(|(a, b)| a != b)
        else {
            continue;
        };
        let moved = baseline.by_serial(now).and_then(|known| known.pci);
        let from = moved.map(|slot| format!(", which was at {slot}")).unwrap_or_default();
        findings.certain(
            resource(gpu),
            format!(
                "GPU {}: board {now}{from}; {was} when the baseline was learned: the board was swapped",
                gpu.index
            ),
        );
    }
}
