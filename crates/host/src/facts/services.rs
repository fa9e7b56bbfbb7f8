//! Services, from systemd's files: which are enabled, which have a process. No systemctl, which would ask a daemon that
//! may not answer.
use std::collections::BTreeSet;
use std::path::Path;
use triage_core::arrange::Gather as _;

use triage_core::facts::Sheet;
use triage_core::facts::host::Services;

use super::attr;
use crate::proc::Root;

/// Units that are looked at when they are enabled, with the name of their process. NVIDIA's fabric services are the
/// driver's business, and a time service is judged by what it does to the clock.
const WATCHED: &[(&str, &str)] = &[
    ("munge", "munged"),
    ("sssd", "sssd"),
    ("nslcd", "nslcd"),
    ("rpcbind", "rpcbind"),
    ("autofs", "automount"),
    ("nvidia-persistenced", "nvidia-persiste"),
    ("slurmd", "slurmd"),
    ("gpfs", "mmfsd"),
];

/// Where links to enabled units are.
const WANTS: &[&str] = &[
    "/etc/systemd/system/multi-user.target.wants",
    "/etc/systemd/system/graphical.target.wants",
    "/etc/systemd/system/remote-fs.target.wants",
    "/etc/systemd/system/sysinit.target.wants",
];

/// Where systemd keeps the control group of a service, with the unified hierarchy and with the old one.
const SLICES: &[&str] = &["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"];

/// `cgroup.events` is two lines.
const MAX_TEXT: u64 = 4096;

/// Reads what there is below `root`, of the watched units and of those named in `[expect]`.
pub(super) fn read(root: &Root, expected: &[String]) -> Sheet<Services> {
    let mut services = Services { systemd: root.at("/run/systemd/system").is_dir(), ..Services::default() };
    let names: BTreeSet<&str> =
        WATCHED.iter().map(|(unit, _)| *unit).chain(expected.iter().map(String::as_str)).into_set();
    let mut processes = None;
    for unit in names.into_iter().filter(|unit| is_plain(unit)) {
        let enabled = services.systemd && is_enabled(root, unit);
        if !enabled && !expected.iter().any(|name| name == unit) {
            continue;
        }
        if enabled {
            services.enabled.push(unit.to_owned());
        }
        // A unit may live in a slice of its own, and a node need not be run by systemd: its process says it too.
        if has_group(root, unit)
            || processes.get_or_insert_with(|| process_names(root)).contains(process_of(unit))
        {
            services.running.push(unit.to_owned());
        }
    }
    Sheet::read(services)
}

/// A unit's name goes into a path.
fn is_plain(unit: &str) -> bool {
    !unit.is_empty()
        && !unit.starts_with('.')
        && unit.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'@' | b':'))
}

fn is_enabled(root: &Root, unit: &str) -> bool {
    WANTS
        .iter()
        .any(|folder| root.at(Path::new(folder)).join(format!("{unit}.service")).symlink_metadata().is_ok())
}

/// Whether the unit's control group holds a process, itself or below it.
fn has_group(root: &Root, unit: &str) -> bool {
    SLICES.iter().any(|slice| {
        let group = root.at(Path::new(slice)).join(format!("{unit}.service"));
        match attr::long_text(&group.join("cgroup.events"), MAX_TEXT) {
            Ok(events) => events.lines().any(|line| line.trim() == "populated 1"),
            Err(_) => attr::bytes(&group.join("cgroup.procs")).is_ok_and(|pids| !pids.is_empty()),
        }
    })
}

/// The name the kernel keeps of the unit's process: 15 bytes of it.
fn process_of(unit: &str) -> &str {
    let known = WATCHED.iter().find(|(name, _)| *name == unit).map(|(_, process)| *process);
    known.unwrap_or_else(|| unit.get(..unit.len().min(15)).unwrap_or(unit))
}

/// The names of all processes: asked for only when a control group does not answer the question.
fn process_names(root: &Root) -> BTreeSet<String> {
    let pids = attr::names(&root.at("/proc")).unwrap_or_default();
    pids.iter().filter_map(|name| root.comm(name.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn with(files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            files.iter().for_each(|(path, text)| tree.write(path, text));
            tree
        }
        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fn read(&self, expected: &[&str]) -> Services {
            let expected: Vec<String> = expected.iter().map(|s| (*s).to_owned()).collect();
            read(&Root::new(self.0.path()), &expected).said.unwrap()
        }
    }

    const WANTED: &str = "etc/systemd/system/multi-user.target.wants";

    #[test]
    fn an_enabled_unit_without_a_process_does_not_run() {
        let tree = Tree::with(&[("run/systemd/system/x", ""), ("proc/9/comm", "bash\n")]);
        tree.write(&format!("{WANTED}/munge.service"), "");
        tree.write(&format!("{WANTED}/sssd.service"), "");
        tree.write("sys/fs/cgroup/system.slice/sssd.service/cgroup.events", "populated 1\nfrozen 0\n");
        let services = tree.read(&[]);
        assert_eq!(
            (services.enabled, services.running),
            (vec!["munge".to_owned(), "sssd".to_owned()], vec!["sssd".to_owned()])
        );
        tree.write("sys/fs/cgroup/system.slice/munge.service/cgroup.events", "populated 0\n");
        assert_eq!(tree.read(&[]).running, ["sssd"]);
        tree.write("proc/10/comm", "munged\n");
        assert_eq!(tree.read(&[]).running, ["munge", "sssd"], "in a slice of its own");
    }

    #[test]
    fn an_expected_one_is_looked_for_without_systemd() {
        let tree = Tree::with(&[("proc/77/comm", "beegfs-client-h\n")]);
        assert_eq!(tree.read(&["beegfs-client-helper"]).running, ["beegfs-client-helper"]);
        assert_eq!(tree.read(&["ghost", "../../etc", ""]).running, [""; 0]);
    }
}
