//! A crash that this boot followed.
use super::said;
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;

pub(in crate::checks) const CHECK: Check = Check {
    name: "crash_record",
    finds: "a record of a kernel that crashed right before this boot (`/sys/fs/pstore`)",
    reads: &[Area::Pstore],
    good_for_s: 0,
    evaluate,
    ..Check::HOST
};

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(pstore) = said(input.facts.pstore.as_ref()) else { return };
    if let Some(first) = pstore.records.first() {
        let text =
            format!("the kernel before this boot left {} records of a crash: {first}", pstore.records.len());
        findings.suspect(Resource::Host, text);
    }
}
