//! NVIDIA's driver and services from files: which modules are loaded, which device files exist, whether the services that a
//! fabric needs run.
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use triage_core::facts::Sheet;
use triage_core::facts::driver::{DriverFacts, GpuOwner, MODULES};

use super::{attr, pci};
use crate::proc::Root;

/// Largest `/proc/modules` that is read, and largest IMEX configuration, bytes.
const MAX_TEXT: u64 = 256 * 1024;

/// Most processes that are looked up: a GPU runs some dozen, MPS up to 48 clients.
const MAX_OWNERS: usize = 1024;

/// Where systemd keeps the control group of a service, with the unified hierarchy and with the old one.
const SLICES: &[&str] = &["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"];

/// Where unit files may be.
const UNITS: &[&str] =
    &["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// Reads what there is below `root`. `pids`: the processes NVML named on the GPUs.
pub fn read(root: &Root, pids: &[u32]) -> Sheet<DriverFacts> {
    let (modules, blind) = match attr::long_text(&root.at("/proc/modules"), MAX_TEXT) {
        Ok(text) => (modules(&text), Vec::new()),
        // A kernel without modules has everything built in, and NVIDIA's driver cannot be.
        Err(error) if error.kind() == ErrorKind::NotFound => (Vec::new(), Vec::new()),
        Err(error) => (Vec::new(), vec![format!("/proc/modules: {error}")]),
    };
    let text = |path: &str| attr::long_text(&root.at(path), MAX_TEXT).ok();
    let named = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let channels = attr::names(&root.at("/dev/nvidia-caps-imex-channels")).ok();
    let facts = DriverFacts {
        modules,
        version: text("/proc/driver/nvidia/version").and_then(|text| version(&text)),
        device_files: pci::device_files(root),
        control_file: root.at("/dev/nvidiactl").exists(),
        imex_channels: channels.and_then(|names| u32::try_from(names.len()).ok()),
        fabric_manager: service(root, "nvidia-fabricmanager.service"),
        imex: service(root, "nvidia-imex.service"),
        imex_configured: text("/etc/nvidia-imex/nodes_config.cfg")
            .is_some_and(|text| text.lines().any(named)),
        mig_devices: mig_devices(root),
        owners: pids.iter().take(MAX_OWNERS).map(|pid| owner(root, *pid)).collect(),
    };
    Sheet { said: Some(facts), blind, cost_us: 0 }
}

/// MIG devices by GPU: one `ciN` below a `giN` of `/proc/driver/nvidia/capabilities/gpuN/mig`.
fn mig_devices(root: &Root) -> BTreeMap<u32, u32> {
    let capabilities = root.at("/proc/driver/nvidia/capabilities");
    let numbered = |name: &str, prefix: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
    let mut devices = BTreeMap::new();
    for name in attr::names(&capabilities).unwrap_or_default() {
        let Some(gpu) = numbered(&name, "gpu") else { continue };
        let mig = capabilities.join(&name).join("mig");
        let instances = attr::names(&mig).unwrap_or_default();
        let instances = instances.iter().filter(|name| numbered(name, "gi").is_some());
        let computes = instances.map(|instance| {
            let inside = attr::names(&mig.join(instance)).unwrap_or_default();
            inside.iter().filter(|name| numbered(name, "ci").is_some()).count()
        });
        let count = u32::try_from(computes.sum::<usize>()).unwrap_or(u32::MAX);
        if count > 0 {
            devices.insert(gpu, count);
        }
    }
    devices
}

/// A process as `/proc` knows it.
fn owner(root: &Root, pid: u32) -> GpuOwner {
    let folder = root.at(format!("/proc/{pid}"));
    let groups = attr::long_text(&folder.join("cgroup"), MAX_TEXT).unwrap_or_default();
    GpuOwner {
        pid,
        name: root.comm(pid).unwrap_or_default(),
        uid: std::fs::metadata(&folder).ok().map(|meta| meta.uid()),
        job: job_of(&groups),
    }
}

/// The job in a control group of slurmstepd: `.../job_4711/step_0/...`.
pub(super) fn job_of(groups: &str) -> Option<u32> {
    let parts = groups.lines().filter(|line| line.contains("slurm")).flat_map(|line| line.split('/'));
    parts.filter_map(|part| part.strip_prefix("job_")).find_map(|number| number.parse().ok())
}

/// The modules of [`MODULES`] among the lines of `/proc/modules`.
pub(super) fn modules(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| MODULES.contains(name)).map(str::to_owned).collect()
}

/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu ...`: the first word that is made of numbers and dots.
/// The open kernel modules say `NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build`.
pub(super) fn version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    let is_version = |word: &&str| {
        word.len() <= 32
            && word.contains('.')
            && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    line.split_whitespace().find(is_version).map(str::to_owned)
}

/// Whether a service of systemd has processes. `None`: it is not installed, or this machine is not run by systemd.
fn service(root: &Root, unit: &str) -> Option<bool> {
    let slice = SLICES.iter().map(|slice| root.at(slice)).find(|slice| slice.is_dir())?;
    let runs = |group: &Path| {
        attr::bytes(&group.join("cgroup.procs")).is_ok_and(|procs| !procs.trim_ascii().is_empty())
    };
    if runs(&slice.join(unit)) {
        return Some(true);
    }
    UNITS.iter().any(|folder| root.at(folder).join(unit).is_file()).then_some(false)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_kernel_module_flavours_tell_their_version() {
        for line in [
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 03:46:09 UTC 2025\nGCC version: gcc 12.3.0\n",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (builder)  Thu\n",
        ] {
            assert_eq!(version(line).as_deref(), Some("570.86.15"));
        }
        assert_eq!(version("GCC version: gcc 12.3.0\n"), None);
        assert_eq!(version("NVRM version: none\n"), None);
    }

    #[test]
    fn a_service_runs_or_stands_still_or_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let unit = "nvidia-fabricmanager.service";
        assert_eq!(service(&root, unit), None, "no systemd");
        let slice = root.at("/sys/fs/cgroup/system.slice");
        fs::create_dir_all(slice.join(unit)).unwrap();
        assert_eq!(service(&root, unit), None, "not installed");
        let units = root.at("/usr/lib/systemd/system");
        fs::create_dir_all(&units).unwrap();
        fs::write(units.join(unit), "[Service]\n").unwrap();
        assert_eq!(service(&root, unit), Some(false));
        fs::write(slice.join(unit).join("cgroup.procs"), "\n").unwrap();
        assert_eq!(service(&root, unit), Some(false), "a group without a process");
        fs::write(slice.join(unit).join("cgroup.procs"), "1234\n").unwrap();
        assert_eq!(service(&root, unit), Some(true));
    }

    #[test]
    fn an_empty_machine_has_no_driver_and_is_not_blind() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&Root::new(folder.path()), &[]), Sheet::read(DriverFacts::default()));
    }

    #[test]
    fn modules_channels_and_device_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        for path in ["/proc/driver/nvidia", "/dev/nvidia-caps-imex-channels", "/etc/nvidia-imex", "/proc/77"]
        {
            fs::create_dir_all(root.at(path)).unwrap();
        }
        fs::write(
            root.at("/proc/modules"),
            "nvidia_uvm 1 0 - Live 0x0\nnvidia 9 2 nvidia_uvm, Live 0x0\next4 1 0 - Live 0x0\n",
        )
        .unwrap();
        for name in [
            "nvidia0",
            "nvidia10",
            "nvidiactl",
            "nvidia-uvm",
            "nvidia2x",
            "nvidia-caps-imex-channels/channel0",
        ] {
            fs::write(root.at("/dev").join(name), "").unwrap();
        }
        for path in ["gpu1/mig/gi1/ci0", "gpu1/mig/gi3/ci0", "gpu0/mig", "mig"] {
            fs::create_dir_all(root.at("/proc/driver/nvidia/capabilities").join(path)).unwrap();
        }
        fs::write(root.at("/proc/77/comm"), "python3\n").unwrap();
        let group = "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n";
        fs::write(root.at("/proc/77/cgroup"), group).unwrap();
        fs::write(root.at("/etc/nvidia-imex/nodes_config.cfg"), "# nodes\n\n10.0.0.1\n").unwrap();
        let facts = read(&root, &[77, 78]).said.unwrap();
        assert_eq!(facts.modules, ["nvidia_uvm", "nvidia"]);
        assert_eq!(facts.device_files, [0, 10]);
        assert!(facts.control_file && facts.imex_configured);
        assert_eq!(facts.imex_channels, Some(1));
        assert_eq!(facts.mig_devices, BTreeMap::from([(1, 2)]));
        let owner = |pid, name: &str, job| (pid, name.to_owned(), job);
        let owners: Vec<_> = facts.owners.iter().map(|o| owner(o.pid, &o.name, o.job)).collect();
        assert_eq!(owners, [owner(77, "python3", Some(4711)), owner(78, "", None)]);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(NVRM version:)?.{0,80}") {
            let _ = (version(&text), modules(&text));
        }
    }
}
