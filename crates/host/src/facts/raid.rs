//! Disk arrays of the kernel's own RAID.
use triage_core::facts::Sheet;
use triage_core::facts::host::{Array, Raid};

use super::attr;
use crate::proc::Root;

const MAX_TEXT: u64 = 256 * 1024;

/// Most arrays kept.
const MAX_ARRAYS: usize = 128;

/// Reads what there is below `root`. A kernel without the driver has no such file.
pub(super) fn read(root: &Root) -> Sheet<Raid> {
    match attr::long_text(&root.at("/proc/mdstat"), MAX_TEXT) {
        Ok(text) => Sheet::read(Raid { arrays: mdstat(&text) }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Sheet::read(Raid::default()),
        Err(error) => Sheet::blind(format!("/proc/mdstat: {error}")),
    }
}

/// `md0 : active raid1 sdb1[1] sda1[0](F)`, below it `... [2/1] [U_]` and `recovery = 12.6% ...`.
pub(super) fn mdstat(text: &str) -> Vec<Array> {
    let mut arrays: Vec<Array> = Vec::new();
    for line in text.lines() {
        if let Some((name, rest)) = line.split_once(" : ").filter(|(name, _)| name.starts_with("md")) {
            if arrays.len() == MAX_ARRAYS {
                break;
            }
            arrays.push(begin(name.trim(), rest));
        } else if let Some(array) = arrays.last_mut().filter(|_| line.starts_with(' ')) {
            detail(array, line);
        }
    }
    arrays
}

fn begin(name: &str, rest: &str) -> Array {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let state: Vec<&str> = words
        .iter()
        .copied()
        .take_while(|w| matches!(*w, "active" | "inactive") || w.starts_with('('))
        .collect();
    let failed =
        words.iter().filter_map(|w| w.strip_suffix("(F)")?.split_once('[').map(|(disk, _)| disk.to_owned()));
    Array {
        name: name.to_owned(),
        state: state.join(" "),
        failed: failed.take(64).collect(),
        ..Array::default()
    }
}

fn detail(array: &mut Array, line: &str) {
    for word in line.split_whitespace() {
        let counts = word.strip_prefix('[').and_then(|w| w.strip_suffix(']')?.split_once('/'));
        if let Some((Ok(wanted), Ok(working))) = counts.map(|(a, b)| (a.parse(), b.parse())) {
            array.wanted = Some(wanted);
            array.working = Some(working);
        }
    }
    let doing = ["recovery", "resync", "reshape", "check"]
        .iter()
        .find_map(|what| line.split_once(&format!("{what} =")).map(|(_, rest)| (what, rest)));
    if let Some((what, rest)) = doing {
        let how_far = rest.split_whitespace().next().unwrap_or_default();
        array.doing = Some(format!("{what} {how_far}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_degraded_array_and_its_recovery_are_read() {
        let text = "Personalities : [raid1] [raid0]\n\
            md0 : active raid1 sdb1[2] sda1[0]\n      976630464 blocks super 1.2 [2/1] [U_]\n\
            \x20     [==>..................]  recovery = 12.6% (1/9) finish=127.5min speed=33440K/sec\n\n\
            md127 : active (read-only) raid0 nvme1n1[1] nvme0n1[0](F)\n      3750486016 blocks\n\nunused devices: <none>\n";
        let arrays = mdstat(text);
        assert_eq!((arrays[0].wanted, arrays[0].working), (Some(2), Some(1)));
        assert_eq!(arrays[0].doing.as_deref(), Some("recovery 12.6%"));
        assert_eq!(
            (arrays[1].state.as_str(), &arrays[1].failed[..]),
            ("active (read-only)", &["nvme0n1".to_owned()][..])
        );
        assert_eq!(arrays[1].wanted, None);
    }

    #[test]
    fn a_machine_without_arrays_is_not_blind() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&Root::new(folder.path())), Sheet::read(Raid::default()));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(md0 : active|recovery =| \\[|[0-9/\\]U_ \n]|\\PC){0,200}") {
            let _ = mdstat(&text);
        }
    }
}
