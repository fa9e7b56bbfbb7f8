//! Kernel modules that let adapters and GPUs talk to each other.
use super::super::{Check, CheckInput, Findings};
use crate::facts::Area;
use crate::{CauseClass, Resource};

/// Without `nvidia_peermem` or its like, traffic between GPU and adapter goes through host memory: slower, and no error.
pub(in super::super) const MODULES: Check = Check {
    name: "gpu_modules",
    finds: "a kernel module (nvidia_peermem, gdrdrv ...) that should be loaded and is not",
    reads: &[Area::Driver],
    class: CauseClass::System,
    bad_for_s: 60,
    good_for_s: 0,
    evaluate,
    ..Check::HOST
};

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(driver) = input.facts.driver.as_ref().and_then(|sheet| sheet.said.as_ref()) else { return };
    let (wanted, source) = match input.baseline {
        _ if !input.expect.modules.is_empty() => (&input.expect.modules, "expected by [expect]"),
        Some(baseline) => (&baseline.modules, "loaded when the baseline was learned"),
        None => {
            findings.remark("neither [expect] nor a baseline names modules");
            return;
        }
    };
    for name in wanted.iter().filter(|name| !driver.has_module(name)) {
        findings.certain(Resource::Service(name.clone()), format!("module {name} is not loaded, {source}"));
    }
}
