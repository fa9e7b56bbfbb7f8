//! NVIDIA's driver and services from files: which modules are loaded, which device files exist, whether the services that a
//! fabric needs run.
use std::path::Path;

use triage_core::facts::driver::{DriverFacts, MODULES};

use super::{attr, pci};
use crate::proc::Root;

/// Largest `/proc/modules` that is read, and largest IMEX configuration, bytes.
const MAX_TEXT: u64 = 256 * 1024;

/// Where systemd keeps the control group of a service, with the unified hierarchy and with the old one.
const SLICES: &[&str] = &["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"];

/// Where unit files may be.
const UNITS: &[&str] =
    &["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// Reads what there is below `root`.
pub fn read(root: &Root) -> DriverFacts {
    let (modules, blind) = match attr::long_text(&root.at("/proc/modules"), MAX_TEXT) {
        Ok(text) => (modules(&text), None),
        // A kernel without modules has everything built in, and NVIDIA's driver cannot be.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Vec::new(), None),
        Err(error) => (Vec::new(), Some(format!("/proc/modules: {error}"))),
    };
    DriverFacts {
        modules,
        version: attr::long_text(&root.at("/proc/driver/nvidia/version"), MAX_TEXT)
            .ok()
            .and_then(|text| version(&text)),
        device_files: pci::device_files(root),
        control_file: root.at("/dev/nvidiactl").exists(),
        imex_channels: attr::names(&root.at("/dev/nvidia-caps-imex-channels"))
            .ok()
            .and_then(|names| u32::try_from(names.len()).ok()),
        fabric_manager: service(root, "nvidia-fabricmanager.service"),
        imex: service(root, "nvidia-imex.service"),
        imex_configured: attr::long_text(&root.at("/etc/nvidia-imex/nodes_config.cfg"), MAX_TEXT).is_ok_and(
            |text| text.lines().any(|line| !line.trim().is_empty() && !line.trim().starts_with('#')),
        ),
        blind,
    }
}

/// The modules of [`MODULES`] among the lines of `/proc/modules`.
fn modules(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| MODULES.contains(name)).map(str::to_owned).collect()
}

/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu ...`: the first word that is made of numbers and dots.
/// The open kernel modules say `NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build`.
fn version(text: &str) -> Option<String> {
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
        assert_eq!(read(&Root::new(folder.path())), DriverFacts::default());
    }

    #[test]
    fn modules_channels_and_device_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        for path in ["/proc/driver/nvidia", "/dev/nvidia-caps-imex-channels", "/etc/nvidia-imex"] {
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
        fs::write(root.at("/etc/nvidia-imex/nodes_config.cfg"), "# nodes\n\n10.0.0.1\n").unwrap();
        let facts = read(&root);
        assert_eq!(facts.modules, ["nvidia_uvm", "nvidia"]);
        assert_eq!(facts.device_files, [0, 10]);
        assert!(facts.control_file && facts.imex_configured);
        assert_eq!(facts.imex_channels, Some(1));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(NVRM version:)?.{0,80}") {
            let _ = (version(&text), modules(&text));
        }
    }
}
