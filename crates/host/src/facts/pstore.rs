//! What a kernel that crashed left in the machine's non-volatile store.
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use triage_core::arrange::Arrange as _;

use triage_core::facts::Sheet;
use triage_core::facts::host::Pstore;

use crate::proc::Root;

/// Where the kernel shows the store, and where systemd-pstore(8) moves what it finds there.
const LIVE: &str = "/sys/fs/pstore";
const MOVED: &str = "/var/lib/systemd/pstore";

/// How long before this boot a crash may lie to be what this boot followed. An hour would do for most machines; one that
/// was left off over a weekend still tells its story for a day of uptime.
const BEFORE_BOOT: Duration = Duration::from_secs(24 * 3600);

/// Most records kept, and most names looked at.
const MAX_RECORDS: usize = 16;
const MAX_NAMES: usize = 1024;

/// Reads what there is below `root`.
pub(super) fn read(root: &Root) -> Sheet<Pstore> {
    let booted = root.boot_time().ok().and_then(|at| u64::try_from(at.micros()).ok());
    let since = booted.map(|at| (UNIX_EPOCH + Duration::from_micros(at)) - BEFORE_BOOT);
    let mut records = Vec::new();
    let mut blind = Vec::new();
    if let Err(error) = list(root, LIVE, None, 0, &mut records) {
        blind.push(format!("{LIVE}: {error}"));
    }
    if let Err(error) = list(root, MOVED, since, 2, &mut records) {
        blind.push(format!("{MOVED}: {error}"));
    }
    records.arrange();
    Sheet { said: Some(Pstore { records }), blind, cost_us: 0 }
}

/// Files below a folder, those changed since then, down to so many folders.
fn list(
    root: &Root,
    folder: &str,
    since: Option<SystemTime>,
    depth: u32,
    records: &mut Vec<String>,
) -> std::io::Result<()> {
    let entries = match fs::read_dir(root.at(Path::new(folder))) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries.take(MAX_NAMES).filter_map(Result::ok) {
        let Some(name) = entry.file_name().into_string().ok().filter(|n| !n.chars().any(char::is_control))
        else {
            continue;
        };
        let Ok(meta) = entry.metadata() else { continue };
        let path = format!("{folder}/{name}");
        if meta.is_dir() && depth > 0 {
            list(root, &path, since, depth - 1, records)?;
        } else if meta.is_file()
            && records.len() < MAX_RECORDS
            && since.is_none_or(|since| meta.modified().is_ok_and(|at| at >= since))
        {
            records.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_of_long_ago_is_history() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, age_s: u64| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            let at = SystemTime::now() - Duration::from_secs(age_s);
            fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        write("proc/stat", 0);
        fs::write(folder.path().join("proc/stat"), format!("btime {}\n", now - 600)).unwrap();
        write("sys/fs/pstore/dmesg-efi-1", 9_000_000);
        write("var/lib/systemd/pstore/1700/001/dmesg.txt", 1_200);
        write("var/lib/systemd/pstore/1600/dmesg.txt", 40_000_000);
        let records = read(&Root::new(folder.path())).said.unwrap().records;
        assert_eq!(records, ["/sys/fs/pstore/dmesg-efi-1", "/var/lib/systemd/pstore/1700/001/dmesg.txt"]);
    }

    #[test]
    fn a_machine_without_a_store_is_not_blind() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&Root::new(folder.path())), Sheet::read(Pstore::default()));
    }
}
