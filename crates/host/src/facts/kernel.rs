//! The kernel about itself: taint, uptime, how full its tables are.
use std::path::Path;

use triage_core::facts::Sheet;
use triage_core::facts::host::Kernel;

use super::attr;
use crate::proc::Root;

/// Each of the files is one line.
const MAX_TEXT: u64 = 4096;

/// Reads what there is below `root`. The files are there on every Linux: one that is not is blindness.
pub(super) fn read(root: &Root) -> Sheet<Kernel> {
    let mut blind = Vec::new();
    let mut text = |path: &str| match attr::long_text(&root.at(Path::new(path)), MAX_TEXT) {
        Ok(value) => value.trim().to_owned(),
        Err(error) => {
            blind.push(format!("{path}: {error}"));
            String::new()
        }
    };
    let uptime = text("/proc/uptime");
    let loadavg = text("/proc/loadavg");
    let files = text("/proc/sys/fs/file-nr");
    let kernel = Kernel {
        tainted: text("/proc/sys/kernel/tainted").parse().ok(),
        uptime_s: uptime
            .split(' ')
            .next()
            .and_then(|seconds| seconds.parse().ok())
            .filter(|s: &f64| s.is_finite()),
        load: loadavg
            .split(' ')
            .next()
            .and_then(|load| load.parse().ok())
            .filter(|load: &f64| load.is_finite()),
        // "0.20 0.18 0.12 1/80 11206": running and all tasks (proc(5)).
        tasks: loadavg.split(' ').nth(3).and_then(|tasks| tasks.split_once('/')?.1.parse().ok()),
        pid_max: text("/proc/sys/kernel/pid_max").parse().ok(),
        threads_max: text("/proc/sys/kernel/threads-max").parse().ok(),
        // "1504 0 9223372036854775807": allocated, unused, most.
        files: files.split_whitespace().next().and_then(|n| n.parse().ok()),
        files_max: files.split_whitespace().nth(2).and_then(|n| n.parse().ok()),
    };
    Sheet { said: Some(kernel), blind, cost_us: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &[u8])]) -> Sheet<Kernel> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        read(&Root::new(folder.path()))
    }

    #[test]
    fn what_is_no_number_is_unknown() {
        let sheet = of(&[
            ("proc/uptime", b"inf 1.0\n"),
            ("proc/loadavg", b"0.20 0.18 0.12 1/80 11206\n"),
            ("proc/sys/fs/file-nr", b"1504\t0\t9223372036854775807\n"),
            ("proc/sys/kernel/tainted", b"\xff\xfe"),
        ]);
        let kernel = sheet.said.unwrap();
        assert_eq!(
            (kernel.uptime_s, kernel.load, kernel.tasks, kernel.tainted),
            (None, Some(0.2), Some(80), None)
        );
        assert_eq!(sheet.blind.len(), 2, "{:?}", sheet.blind);
    }

    #[test]
    fn this_machine_tells_all_of_it() {
        let sheet = read(&Root::default());
        assert_eq!(sheet.blind, [""; 0]);
        let kernel = sheet.said.unwrap();
        assert!(kernel.uptime_s.is_some() && kernel.tasks.is_some() && kernel.files_max.is_some());
    }
}
