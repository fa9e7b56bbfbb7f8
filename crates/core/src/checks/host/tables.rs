//! How full the kernel's tables are: with no room in one, nothing can be started or opened any more.
use super::{percent, said};
use crate::Resource;
use crate::checks::{Check, CheckInput, Findings, Threshold};
use crate::facts::Area;

const SOURCE: &str = "gpud's first limit; forks and opens fail at 100";

pub(in crate::checks) const TASKS: Check = Check {
    name: "tasks",
    finds: "the table of processes and threads is nearly full (`pid_max`, `threads-max`)",
    reads: &[Area::Kernel],
    threshold: Some(Threshold { value: 80.0, unit: "% used, at least", source: SOURCE }),
    evaluate: tasks,
    ..Check::HOST
};

pub(in crate::checks) const FILES: Check = Check {
    name: "open_files",
    finds: "the table of open files is nearly full (`file-nr`)",
    reads: &[Area::Kernel],
    threshold: Some(Threshold { value: 80.0, unit: "% used, at least", source: SOURCE }),
    evaluate: files,
    ..Check::HOST
};

fn tasks(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(kernel) = said(input.facts.kernel.as_ref()) else { return };
    let most = [kernel.pid_max, kernel.threads_max].into_iter().flatten().min();
    share(input, findings, kernel.tasks, most, "tasks (processes and threads)");
}

fn files(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(kernel) = said(input.facts.kernel.as_ref()) else { return };
    share(input, findings, kernel.files, kernel.files_max, "open files");
}

fn share(input: &CheckInput<'_>, findings: &mut Findings, used: Option<u64>, most: Option<u64>, what: &str) {
    let (Some(used), Some(most)) = (used, most) else {
        return findings.blind(format!("how many {what} there are, or may be, is not known"));
    };
    let Some(share) = percent(used, most) else { return };
    findings.value(format!("{share:.1} % ({used} of {most})"));
    if share >= input.setting.threshold {
        let limit = input.setting.threshold;
        findings.certain(
            Resource::Host,
            format!("{used} of {most} {what}: {share:.1} %, at most {limit} % expected"),
        );
    }
}
