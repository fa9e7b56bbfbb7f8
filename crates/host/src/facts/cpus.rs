//! CPUs: which are there, which are in use, how their frequency is governed.
use triage_core::facts::Sheet;
use triage_core::facts::host::Cpus;

use super::attr;
use crate::proc::Root;

const FOLDER: &str = "/sys/devices/system/cpu";

/// Highest CPU number believed. Linux is built for 8192 at most.
const MAX_CPU: u32 = 8192;

/// Reads what there is below `root`.
pub(super) fn read(root: &Root) -> Sheet<Cpus> {
    let folder = root.at(FOLDER);
    let list = |name: &str| attr::text(&folder.join(name)).and_then(|text| cpu_list(&text));
    let (Some(present), Some(online)) = (list("present"), list("online")) else {
        return Sheet::blind(format!("{FOLDER}: the lists of CPUs cannot be read"));
    };
    let mut cpus = Cpus { present, online, smt: attr::text(&folder.join("smt/control")), ..Cpus::default() };
    // Virtual machines and some firmware leave the frequency to the host: no folder then.
    let policies = folder.join("cpufreq");
    for name in attr::names(&policies).unwrap_or_default() {
        if !name.starts_with("policy") {
            continue;
        }
        if let Some(governor) = attr::text(&policies.join(&name).join("scaling_governor")) {
            *cpus.governors.entry(governor).or_default() += 1;
        }
        if cpus.driver.is_none() {
            cpus.driver = attr::text(&policies.join(&name).join("scaling_driver"));
        }
    }
    Sheet::read(cpus)
}

/// `0-3,8,10-11` (cpuset(7)); `None` for what is none.
pub(super) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= MAX_CPU || all.len() > MAX_CPU as usize {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_and_nonsense_is_refused() {
        assert_eq!(cpu_list("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        for bad in ["x", "3-1", "0-4294967295", "1,,x", "-"] {
            assert_eq!(cpu_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn governors_are_counted_by_policy() {
        let folder = tempfile::tempdir().unwrap();
        let cpu = folder.path().join("sys/devices/system/cpu");
        for (n, governor) in [(0, "performance"), (1, "performance"), (2, "powersave")] {
            let policy = cpu.join(format!("cpufreq/policy{n}"));
            std::fs::create_dir_all(&policy).unwrap();
            std::fs::write(policy.join("scaling_governor"), format!("{governor}\n")).unwrap();
        }
        std::fs::write(cpu.join("present"), "0-2\n").unwrap();
        std::fs::write(cpu.join("online"), "0,2\n").unwrap();
        let cpus = read(&Root::new(folder.path())).said.unwrap();
        assert_eq!(
            (cpus.online, cpus.governors["performance"], cpus.governors["powersave"]),
            (vec![0, 2], 2, 1)
        );
    }

    #[test]
    fn this_machine_has_a_cpu() {
        assert!(read(&Root::default()).said.is_some_and(|cpus| !cpus.online.is_empty()));
    }

    proptest! {
        #[test]
        fn any_list_is_answered(text in "([0-9,\\-]|\\PC){0,60}") {
            let _ = cpu_list(&text);
        }
    }
}
