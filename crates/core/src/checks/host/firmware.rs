//! The machine's own firmware, against what the site and the baseline say.
use super::said;
use crate::Resource;
use crate::checks::expect::said as told;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;

/// One server of a rack that missed an update, or got it alone, is slower or stranger than the others. An update on purpose is
/// told as well: `slurm-triage baseline --learn` takes it over.
pub(in crate::checks) const CHECK: Check = Check {
    name: "firmware",
    finds: "BIOS, main board, its controller's firmware or CPU microcode other than expected, or than when the baseline was learned",
    reads: &[Area::Firmware],
    good_for_s: 0,
    evaluate,
    ..Check::HOST
};

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(firmware) = said(input.facts.firmware.as_ref()) else { return };
    if firmware.parts().iter().all(|(_, value)| value.is_none()) {
        return findings.remark("the firmware tells nothing of itself here");
    }
    findings.value(firmware.bios.clone().unwrap_or_default());
    let site = |part: &str| match part {
        "BIOS" => told(&input.expect.bios),
        "board" => told(&input.expect.board),
        _ => None,
    };
    let learned = input.baseline.and_then(|baseline| baseline.firmware.as_ref());
    let mut compared = false;
    for (at, (part, now)) in firmware.parts().into_iter().enumerate() {
        let by_site = site(part).map(|wanted| (wanted, "expected by [expect]"));
        let by_baseline = || {
            let (_, then) = learned?.parts().get(at).copied()?;
            Some((then?, "when the baseline was learned"))
        };
        let Some((wanted, source)) = by_site.or_else(by_baseline) else { continue };
        compared = true;
        match now {
            Some(now) if now != wanted => {
                findings.certain(Resource::Host, format!("{part} {now}, {wanted} {source}"));
            }
            Some(_) => {}
            // A file of the kernel's that is gone says nothing about the firmware.
            None => findings.blind_on(Resource::Host, format!("{part} is not told, {wanted} {source}")),
        }
    }
    if !compared {
        findings.remark("neither [expect] nor the baseline says what it should be");
    }
}

#[cfg(test)]
mod tests {
    use super::CHECK;
    use crate::baseline::learn;
    use crate::checks::scene::Scene;
    use crate::facts::Sheet;
    use crate::facts::host::Firmware;

    fn scene() -> Scene {
        let mut scene = Scene::healthy();
        let text = |text: &str| Some(text.to_owned());
        scene.facts.firmware = Some(Sheet::read(Firmware {
            product: text("DGXH100"),
            board: text("DGXH100"),
            bios: text("1.05.03"),
            bios_date: text("06/15/2024"),
            microcode: text("0x2b0005c0"),
            controller: None,
        }));
        scene.baseline = Some(learn(&scene.facts, scene.nvml.as_ref()));
        scene
    }

    fn firmware(scene: &mut Scene) -> &mut Firmware {
        scene.facts.firmware.as_mut().unwrap().said.as_mut().unwrap()
    }

    #[test]
    fn a_bios_other_than_when_it_was_learned_is_named_with_both_versions() {
        let mut scene = scene();
        assert!(scene.bad(&CHECK).is_empty());
        firmware(&mut scene).bios = Some("1.06.00".to_owned());
        firmware(&mut scene).microcode = Some("0x2b000600".to_owned());
        assert_eq!(
            scene.bad(&CHECK),
            [
                "host | BIOS 1.06.00, 1.05.03 when the baseline was learned; microcode 0x2b000600, 0x2b0005c0 when the \
              baseline was learned"
            ]
        );
    }

    #[test]
    fn the_sites_word_goes_before_the_baselines() {
        let mut scene = scene();
        firmware(&mut scene).bios = Some("1.06.00".to_owned());
        scene.expect.bios = "1.06.00".to_owned();
        assert!(scene.bad(&CHECK).is_empty());
        scene.expect.board = "DGXB200".to_owned();
        assert_eq!(scene.bad(&CHECK), ["host | board DGXH100, DGXB200 expected by [expect]"]);
    }

    #[test]
    fn what_is_not_told_any_more_is_blindness_and_without_a_word_nothing_is_compared() {
        let mut scene = scene();
        firmware(&mut scene).bios = None;
        let findings = scene.look(&CHECK);
        assert!(findings.bad.is_empty() && findings.blind.len() == 1, "{findings:?}");
        scene.baseline = None;
        assert!(scene.look(&CHECK).remark.contains("neither [expect] nor the baseline"));
        *firmware(&mut scene) = Firmware::default();
        assert!(scene.look(&CHECK).remark.contains("tells nothing"));
    }
}
