//! Disks the kernel has given up, and disks that are gone.
use super::said;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;
use crate::facts::host::Disk;
use crate::{CauseClass, Resource};

/// Also told by the kernel's log in the moment it happens; this also sees one that was gone before the boot. The words are those
/// of the kernel's `drivers/nvme/host/sysfs.c` and `drivers/scsi/scsi_sysfs.c`. A reset takes seconds: hence the minute, our own
/// figure.
pub(in crate::checks) const CHECK: Check = Check {
    name: "disks",
    finds: "an NVMe controller or a disk that the kernel has given up, or one of the baseline's that is gone",
    reads: &[Area::Disks],
    class: CauseClass::Hardware,
    fault: "disk.failed",
    bad_for_s: 60,
    evaluate,
    ..Check::HOST
};

/// States of a disk at work, and of one that has just come.
const WELL: &[&str] = &["live", "new", "running", "created", "quiesce"];

/// States that nothing but a reset or a person ends.
const GIVEN_UP: &[&str] = &["dead", "offline", "transport-offline", "deleting (no IO)"];

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(disks) = said(input.facts.disks.as_ref()) else { return };
    let disks = &disks.disks;
    findings.value(disks.len().to_string());
    input.blind_on_gone(findings, |known| {
        // One that is told as missing is compared with the baseline below, by its serial number.
        disks.iter().any(|disk| resource(&disk.name) == *known) || is_learned(input, known)
    });
    for disk in disks {
        if disk.state.is_empty() {
            findings.blind_on(resource(&disk.name), format!("{}: its state cannot be read", disk.name));
        } else if !WELL.contains(&disk.state.as_str()) {
            let text =
                format!("{}: {}{}", disk.name, disk.state, of(disk.model.as_deref(), disk.serial.as_deref()));
            if GIVEN_UP.contains(&disk.state.as_str()) {
                findings.certain(resource(&disk.name), text);
            } else {
                findings.likely(resource(&disk.name), text);
            }
        }
    }
    for gone in input.baseline.into_iter().flat_map(|baseline| &baseline.disks) {
        if disks.iter().any(|disk| disk.serial.as_deref() == Some(&gone.serial)) {
            continue;
        }
        // Another disk may have its name now.
        let name = if disks.iter().any(|disk| disk.name == gone.name) { &gone.serial } else { &gone.name };
        let what = of(gone.model.as_deref(), Some(&gone.serial));
        findings.likely(
            resource(name),
            format!("{}: not there any more{what}, there when the baseline was learned", gone.name),
        );
    }
    for disk in disks {
        firmware(input, disk, findings);
    }
}

/// An update of one disk of many is worth a word, not a case.
fn firmware(input: &CheckInput<'_>, disk: &Disk, findings: &mut Findings) {
    let then = input.baseline.into_iter().flat_map(|baseline| &baseline.disks);
    let then = then.filter(|then| disk.serial.as_deref() == Some(&then.serial));
    for (now, was) in then.filter_map(|then| disk.firmware.as_deref().zip(then.firmware.as_deref())) {
        if now != was {
            findings.remark(format!("{}: firmware {now}, {was} when the baseline was learned", disk.name));
        }
    }
}

fn is_learned(input: &CheckInput<'_>, known: &Resource) -> bool {
    let mut learned = input.baseline.into_iter().flat_map(|baseline| &baseline.disks);
    learned.any(|disk| resource(&disk.name) == *known || resource(&disk.serial) == *known)
}

pub(super) fn resource(name: &str) -> Resource {
    Resource::Disk(name.to_owned())
}

/// ` (SAMSUNG MZQL23T8, S64H...)`: by which a person finds it in its slot.
pub(super) fn of(model: Option<&str>, serial: Option<&str>) -> String {
    let known: Vec<&str> = model.into_iter().chain(serial).collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::CHECK;
    use crate::Confidence;
    use crate::baseline::learn;
    use crate::checks::scene::Scene;
    use crate::facts::Sheet;
    use crate::facts::host::{Disk, Disks};

    fn disk(name: &str, state: &str, serial: &str) -> Disk {
        Disk {
            name: name.to_owned(),
            state: state.to_owned(),
            model: Some("PM9A3".to_owned()),
            serial: Some(serial.to_owned()),
            firmware: Some("GDC56".to_owned()),
        }
    }

    fn scene() -> Scene {
        let mut scene = Scene::healthy();
        let disks =
            vec![disk("nvme0", "live", "S0"), disk("nvme1", "live", "S1"), disk("sda", "running", "naa.5")];
        scene.facts.disks = Some(Sheet::read(Disks { disks }));
        scene.baseline = Some(learn(&scene.facts, scene.nvml.as_ref()));
        scene
    }

    fn disks(scene: &mut Scene) -> &mut Vec<Disk> {
        &mut scene.facts.disks.as_mut().unwrap().said.as_mut().unwrap().disks
    }

    #[test]
    fn a_controller_the_kernel_gave_up_is_certain_and_one_in_a_reset_is_not() {
        let mut scene = scene();
        assert!(scene.bad(&CHECK).is_empty());
        for (state, confidence) in [("dead", Confidence::Confirmed), ("resetting", Confidence::Probable)] {
            disks(&mut scene)[0].state = state.to_owned();
            let found = scene.look(&CHECK).bad;
            assert_eq!(found[0].text, format!("nvme0: {state} (PM9A3, S0)"));
            assert_eq!(
                (found[0].confidence, found[0].resource.to_string().as_str()),
                (confidence, "disk:nvme0")
            );
        }
        disks(&mut scene)[0].state = String::new();
        let findings = scene.look(&CHECK);
        assert!(
            findings.bad.is_empty() && findings.blind.len() == 1,
            "an unknown state is blindness: {findings:?}"
        );
    }

    #[test]
    fn a_disk_that_is_gone_is_named_and_a_new_name_alone_is_nothing() {
        let mut scene = scene();
        disks(&mut scene).remove(0);
        assert_eq!(
            scene.bad(&CHECK),
            ["disk:nvme0 | nvme0: not there any more (PM9A3, S0), there when the baseline was learned"]
        );
        // After a boot without it the others move up.
        disks(&mut scene)[0].name = "nvme0".to_owned();
        assert!(scene.bad(&CHECK)[0].starts_with("disk:S0 | "), "{:?}", scene.bad(&CHECK));
        disks(&mut scene).push(disk("nvme7", "live", "S0"));
        assert!(scene.bad(&CHECK).is_empty());
        scene.baseline = None;
        disks(&mut scene).clear();
        assert!(scene.bad(&CHECK).is_empty(), "what nobody expected is not missed");
    }

    #[test]
    fn another_firmware_is_worth_a_word_and_no_case() {
        let mut scene = scene();
        disks(&mut scene)[1].firmware = Some("GDC60".to_owned());
        let findings = scene.look(&CHECK);
        assert!(findings.bad.is_empty());
        assert_eq!(findings.remark, "nvme1: firmware GDC60, GDC56 when the baseline was learned");
    }
}
