//! What the NVMe disks themselves say of their health.
use super::disks::{of, resource};
use super::said;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;
use crate::facts::host::Health;
use crate::{CauseClass, Confidence, Resource};

/// The disk judges: the bits are its own word, as it is in the moment of the look. The minute is that of `disks`.
pub(in crate::checks) const CHECK: Check = Check {
    name: "disk_smart",
    finds: "an NVMe disk that calls itself read-only, unreliable, short of spare capacity or without its backup power",
    reads: &[Area::Disks, Area::Smart],
    class: CauseClass::Hardware,
    threshold: Some(Threshold {
        value: 100.0,
        unit: "% of its life used, at least: worth a word and no case",
        source: "NVM Express: 100 is the endurance that the maker expects, and no failure by itself",
    }),
    fault: "disk.failed",
    bad_for_s: 60,
    evaluate,
    ..Check::HOST
};

/// Critical warnings (byte 0 of the log): bit, what it says, how sure it is that the disk has to go. A namespace that a person has
/// write-protected does not set the third bit ("All Media Read-Only"). Bit 1, temperature, is no fault of the disk.
const WARNINGS: &[(u64, &str, Confidence)] = &[
    (1 << 3, "all of its media is read-only", Confidence::Confirmed),
    (1 << 2, "its reliability is degraded by media or internal errors", Confidence::Confirmed),
    (1 << 0, "spare capacity below the maker's threshold", Confidence::Probable),
    (1 << 4, "the backup of its volatile memory has failed", Confidence::Probable),
    (1 << 5, "its persistent memory region is read-only or unreliable", Confidence::Probable),
];

const TEMPERATURE: u64 = 1 << 1;

/// Kelvin at 0 °C, as the log's whole numbers have it.
const ZERO_CELSIUS: i64 = 273;

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(space) = said(input.facts.space.as_ref()) else { return };
    let listed = said(input.facts.disks.as_ref()).map_or(&[][..], |disks| &disks.disks);
    findings.value(format!("{} NVMe disks", space.disks.len()));
    input.blind_on_gone(findings, |known| space.disks.keys().any(|name| resource(name) == *known));
    for disk in listed.iter().filter(|disk| disk.name.starts_with("nvme")) {
        if !space.disks.contains_key(&disk.name) {
            findings.blind_on(resource(&disk.name), format!("{}: was not asked", disk.name));
        }
    }
    let mut remarks = Vec::new();
    for (name, answer) in &space.disks {
        let Some(health) = answer.health.as_ref() else {
            let why = match &answer.error {
                Some(error) => error.clone(),
                None => format!("no answer within {} ms", space.deadline_ms),
            };
            findings.blind_on(resource(name), format!("{name}: its health log cannot be read: {why}"));
            continue;
        };
        let disk = listed.iter().find(|disk| disk.name == *name);
        let who = disk.map(|disk| of(disk.model.as_deref(), disk.serial.as_deref())).unwrap_or_default();
        warnings(&format!("{name}{who}"), resource(name), health, findings);
        remarks.extend(words(input, name, health).map(|word| format!("{name}: {word}")));
    }
    findings.remark(remarks.join("; "));
}

fn warnings(who: &str, resource: Resource, health: &Health, findings: &mut Findings) {
    for (_, says, confidence) in WARNINGS.iter().filter(|(bit, ..)| health.warnings & bit != 0) {
        let figures = match says.starts_with("spare") {
            true => format!(" ({} %, at least {} % expected)", health.spare, health.spare_min),
            false => String::new(),
        };
        let text = format!("{who}: {says}{figures}");
        match confidence {
            Confidence::Confirmed => findings.certain(resource.clone(), text),
            _ => findings.likely(resource.clone(), text),
        }
    }
}

/// What is worth showing and no case: heat comes from outside, wear is an estimate, and one lost sector is no lost disk.
#[expect(clippy::cast_precision_loss, reason = "per cent of one byte")]
fn words(input: &CheckInput<'_>, name: &str, health: &Health) -> impl Iterator<Item = String> {
    let hot = (health.warnings & TEMPERATURE != 0).then(|| {
        let celsius = i64::try_from(health.kelvin).unwrap_or(0) - ZERO_CELSIUS;
        format!("its temperature is beyond one of its thresholds ({celsius} °C)")
    });
    let worn = (health.used as f64 >= input.setting.threshold)
        .then(|| format!("{} % of its life used", health.used));
    let before = input.before.and_then(|before| said(before.space.as_ref()));
    let before = before.and_then(|space| space.disks.get(name)?.health);
    let new = before.map_or(0, |before| health.media_errors.saturating_sub(before.media_errors));
    let errors = (new > 0)
        .then(|| format!("{new} media errors since the last look, {} in its life", health.media_errors));
    [hot, worn, errors].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::CHECK;
    use crate::checks::scene::Scene;
    use crate::facts::Sheet;
    use crate::facts::host::{Answer, Disk, Disks, Health, Space};
    use crate::{Confidence, Resource};

    const WELL: Health =
        Health { warnings: 0, kelvin: 310, spare: 100, spare_min: 10, used: 3, media_errors: 7 };

    fn disk(name: &str) -> Disk {
        Disk {
            name: name.to_owned(),
            state: "live".to_owned(),
            model: Some("PM9A3".to_owned()),
            serial: Some(format!("S-{name}")),
            ..Disk::default()
        }
    }

    /// Two NVMe disks and one that has no such log.
    fn scene() -> Scene {
        let mut scene = Scene::healthy();
        let disks = ["nvme0", "nvme1", "sda"].map(disk).to_vec();
        scene.facts.disks = Some(Sheet::read(Disks { disks }));
        let well = Answer { health: Some(WELL), ..Answer::default() };
        let disks = ["nvme0", "nvme1"].map(|name| (name.to_owned(), well.clone())).into();
        let space = Space { disks, deadline_ms: 3000, ..Space::default() };
        scene.facts.space = Some(Sheet::read(space));
        scene.before.as_mut().unwrap().space.clone_from(&scene.facts.space);
        scene
    }

    fn answer(scene: &mut Scene) -> &mut Answer {
        scene.facts.space.as_mut().unwrap().said.as_mut().unwrap().disks.get_mut("nvme0").unwrap()
    }

    fn with(change: impl FnOnce(&mut Health)) -> Scene {
        let mut scene = scene();
        change(answer(&mut scene).health.as_mut().unwrap());
        scene
    }

    #[test]
    fn a_disk_that_calls_itself_broken_is_believed_and_one_that_calls_for_care_is_likely_so() {
        assert_eq!(scene().look(&CHECK).bad, []);
        for (bit, says, confidence) in [
            (
                0,
                "spare capacity below the maker's threshold (4 %, at least 10 % expected)",
                Confidence::Probable,
            ),
            (2, "its reliability is degraded by media or internal errors", Confidence::Confirmed),
            (3, "all of its media is read-only", Confidence::Confirmed),
            (4, "the backup of its volatile memory has failed", Confidence::Probable),
            (5, "its persistent memory region is read-only or unreliable", Confidence::Probable),
        ] {
            let found = with(|health| (health.warnings, health.spare) = (1 << bit, 4)).look(&CHECK).bad;
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].text, format!("nvme0 (PM9A3, S-nvme0): {says}"));
            assert_eq!(
                (found[0].confidence, &found[0].resource),
                (confidence, &Resource::Disk("nvme0".to_owned()))
            );
        }
        let both = with(|health| health.warnings = 0b1001).look(&CHECK).bad;
        assert_eq!((both.len(), both[0].confidence), (1, Confidence::Confirmed), "the surer word counts");
    }

    #[test]
    fn heat_wear_and_lost_sectors_are_worth_a_word_and_no_case() {
        for (scene, word) in [
            (
                with(|health| (health.warnings, health.kelvin) = (0b10, 353)),
                "nvme0: its temperature is beyond one of its thresholds (80 °C)",
            ),
            (with(|health| health.used = 100), "nvme0: 100 % of its life used"),
            (
                with(|health| health.media_errors = 9),
                "nvme0: 2 media errors since the last look, 9 in its life",
            ),
            (with(|health| health.used = 99), ""),
            (with(|health| health.media_errors = 0), ""),
            // Nothing in the specification: whatever it means, it is no fault that is known.
            (with(|health| health.warnings = 0b1100_0000), ""),
        ] {
            let findings = scene.look(&CHECK);
            assert!(findings.bad.is_empty() && findings.blind.is_empty(), "{findings:?}");
            assert_eq!(findings.remark, word);
        }
        let mut first = with(|health| health.media_errors = 9);
        first.before = None;
        assert_eq!(first.look(&CHECK).remark, "", "old errors of a disk seen for the first time are no news");
    }

    #[test]
    fn a_disk_that_does_not_tell_is_neither_healthy_nor_broken() {
        for (told, why) in [
            (Answer { hung: true, ..Answer::default() }, "no answer within 3000 ms"),
            (
                Answer { error: Some("Permission denied".to_owned()), ..Answer::default() },
                "Permission denied",
            ),
        ] {
            let mut scene = scene();
            *answer(&mut scene) = told;
            let findings = scene.look(&CHECK);
            assert!(findings.bad.is_empty());
            let about = Some(Resource::Disk("nvme0".to_owned()));
            assert_eq!(
                findings.blind,
                [(about, format!("nvme0: its health log cannot be read: {why}"))],
                "the other disk is told all the same"
            );
        }
    }

    #[test]
    fn a_disk_that_nobody_asked_is_not_held_for_healthy() {
        let mut unasked = scene();
        unasked.facts.space = Some(Sheet::read(Space::default()));
        let texts = unasked.look(&CHECK).blind.into_iter().map(|(_, why)| why).collect::<Vec<_>>();
        assert_eq!(texts, ["nvme0: was not asked", "nvme1: was not asked"]);
        let mut unlisted = scene();
        unlisted.facts.disks.as_mut().unwrap().blind.push("/sys/class/nvme: denied".to_owned());
        assert_eq!(unlisted.look(&CHECK).blind, [(None, "/sys/class/nvme: denied".to_owned())]);
        let mut gone = scene();
        gone.was_bad(&CHECK, "disk:nvme5");
        assert_eq!(gone.look(&CHECK).blind[0].0, Some(Resource::Disk("nvme5".to_owned())));
    }

    #[test]
    fn a_machine_without_such_disks_says_nothing() {
        let mut scene = scene();
        scene.facts.space = Some(Sheet::read(Space::default()));
        scene.facts.disks = Some(Sheet::read(Disks { disks: vec![disk("sda")] }));
        let findings = scene.look(&CHECK);
        assert!(findings.bad.is_empty() && findings.blind.is_empty() && findings.remark.is_empty());
    }
}
