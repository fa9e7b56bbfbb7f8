//! Memory errors: any that could not be corrected, and many that could.
use super::said;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;
use crate::facts::host::Errors;
use crate::{CauseClass, Resource};

pub(in crate::checks) const UNCORRECTED: Check = Check {
    name: "dimm_uncorrected",
    finds: "memory errors that could not be corrected, since boot",
    reads: &[Area::Edac],
    class: CauseClass::Hardware,
    fault: "memory.dimm",
    evaluate: uncorrected,
    ..Check::HOST
};

pub(in crate::checks) const CORRECTED: Check = Check {
    name: "dimm_corrected",
    finds: "a DIMM that needs many corrections",
    reads: &[Area::Edac],
    class: CauseClass::Hardware,
    threshold: Some(Threshold {
        value: 100.0,
        unit: "an hour, at least, between two looks",
        source: "ours: far above background (a few a day), far below what slows a machine; NHC complains at 9 in all",
    }),
    fault: "dimm.corrected",
    good_for_s: 3600,
    evaluate: corrected,
    ..Check::HOST
};

fn dimms<'a>(input: &CheckInput<'a>) -> impl Iterator<Item = (&'a String, &'a Errors)> {
    said(input.facts.edac.as_ref()).into_iter().flat_map(|edac| &edac.of)
}

fn uncorrected(input: &CheckInput<'_>, findings: &mut Findings) {
    findings.value(format!("{} modules", dimms(input).count()));
    for (label, errors) in dimms(input).filter(|(_, errors)| errors.uncorrected > 0) {
        let text = format!("{label}: {} uncorrected memory errors since boot", errors.uncorrected);
        findings.certain(Resource::Dimm(label.clone()), text);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn corrected(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(hours) = input.seconds_since_before().map(|s| s / 3600.0).filter(|hours| *hours > 0.0) else {
        return findings.remark("the first look of this boot: no rate yet");
    };
    let Some(before) = input.before.and_then(|before| said(before.edac.as_ref())) else { return };
    let mut most: f64 = 0.0;
    for (label, errors) in dimms(input) {
        let Some(last) = before.of.get(label) else { continue };
        let new = errors.corrected.saturating_sub(last.corrected);
        let rate = new as f64 / hours;
        most = most.max(rate);
        // Two looks a second apart would make a storm of one error.
        if rate >= input.setting.threshold && new >= 10 {
            let text = format!(
                "{label}: {new} corrected memory errors in {:.0} min, {rate:.0} an hour",
                hours * 60.0
            );
            findings.likely(Resource::Dimm(label.clone()), text);
        }
    }
    findings.value(format!("{most:.1} an hour"));
}
