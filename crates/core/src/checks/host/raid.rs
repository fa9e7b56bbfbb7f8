//! Disk arrays that have lost a member.
use super::said;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;
use crate::{CauseClass, Resource};

pub(in crate::checks) const CHECK: Check = Check {
    name: "raid",
    finds: "an array of the kernel's RAID with fewer members than it should have, a failed one, or stopped",
    reads: &[Area::Raid],
    class: CauseClass::Hardware,
    fault: "raid.degraded",
    evaluate,
    ..Check::HOST
};

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(raid) = said(input.facts.raid.as_ref()) else { return };
    findings.value(format!("{} arrays", raid.arrays.len()));
    let is_there = |known: &Resource| matches!(known, Resource::Disk(name) if raid.arrays.iter().any(|a| a.name == *name));
    input.blind_on_gone(findings, is_there);
    for array in &raid.arrays {
        let resource = Resource::Disk(array.name.clone());
        let name = &array.name;
        let doing = array.doing.as_ref().map(|doing| format!(" ({doing})")).unwrap_or_default();
        if !array.failed.is_empty() {
            findings.certain(resource.clone(), format!("{name}: failed: {}{doing}", array.failed.join(", ")));
        }
        if let (Some(wanted), Some(working)) = (array.wanted, array.working)
            && working < wanted
        {
            findings.certain(resource.clone(), format!("{name}: {working} of {wanted} members work{doing}"));
        }
        // A spare of a foreign array may lie about inactive; it is nobody's storage then.
        if array.state.starts_with("inactive") && array.wanted.is_some() {
            findings.likely(resource, format!("{name}: inactive"));
        }
    }
}
