//! Services that should run and do not.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use super::said;
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings};
use crate::facts::Area;

pub(in crate::checks) const CHECK: Check = Check {
    name: "services",
    finds: "a service that is enabled (munge, sssd, nslcd, rpcbind, autofs, nvidia-persistenced, slurmd, gpfs) or named in `[expect] services`, and has no process",
    reads: &[Area::Services, Area::Kernel],
    // A restart takes seconds, and some units take minutes.
    bad_for_s: 120,
    good_for_s: 120,
    evaluate,
    ..Check::HOST
};

/// Seconds after boot in which services may still be starting.
const STARTING_S: f64 = 300.0;

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(services) = said(input.facts.services.as_ref()) else { return };
    let uptime = said(input.facts.kernel.as_ref()).and_then(|kernel| kernel.uptime_s);
    if uptime.is_some_and(|uptime| uptime < STARTING_S) {
        return findings.remark("booted a moment ago: services may still be starting");
    }
    let wanted: BTreeSet<&str> =
        services.enabled.iter().chain(&input.expect.services).map(String::as_str).into_set();
    findings.value(format!("{} expected", wanted.len()));
    for name in wanted {
        if !services.running.iter().any(|running| running == name) {
            let from = if services.enabled.iter().any(|unit| unit == name) {
                "it is enabled"
            } else {
                "[expect] names it"
            };
            findings.likely(Resource::Service(name.to_owned()), format!("{name} does not run, and {from}"));
        }
    }
}
