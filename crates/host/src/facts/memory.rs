//! Memory and huge pages.
use triage_core::facts::Sheet;
use triage_core::facts::host::{HugePages, Memory};

use super::attr;
use crate::proc::Root;

const MAX_TEXT: u64 = 64 * 1024;

/// Where the kernel tells of huge pages, one folder a size.
const HUGEPAGES: &str = "/sys/kernel/mm/hugepages";

/// Reads what there is below `root`.
pub(super) fn read(root: &Root) -> Sheet<Memory> {
    let text = match attr::long_text(&root.at("/proc/meminfo"), MAX_TEXT) {
        Ok(text) => text,
        Err(error) => return Sheet::blind(format!("/proc/meminfo: {error}")),
    };
    let Some(total_kib) = kib(&text, "MemTotal") else {
        return Sheet::blind("/proc/meminfo: no MemTotal in it");
    };
    let available_kib = kib(&text, "MemAvailable");
    let swap_kib = kib(&text, "SwapTotal");
    let mut memory = Memory { total_kib, available_kib, swap_kib, ..Memory::default() };
    let folder = root.at(HUGEPAGES);
    // A kernel without huge pages has no such folder.
    for name in attr::names(&folder).unwrap_or_default() {
        let size = name.strip_prefix("hugepages-").and_then(|rest| rest.strip_suffix("kB")?.parse().ok());
        let number = |file: &str| attr::number(&folder.join(&name).join(file));
        if let (Some(size), Some(total), Some(free)) =
            (size, number("nr_hugepages"), number("free_hugepages"))
        {
            memory.hugepages.insert(size, HugePages { total, free });
        }
    }
    Sheet::read(memory)
}

/// `MemTotal:       131072 kB`.
pub(super) fn kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_is_not_taken_for_one_that_begins_alike() {
        let text = "MemTotalX:  1 kB\nMemTotal:   64 kB\nMemFree: 3 kB\n";
        assert_eq!((kib(text, "MemTotal"), kib(text, "MemAvailable")), (Some(64), None));
    }

    #[test]
    fn a_file_without_the_figure_is_blindness_and_not_a_node_without_memory() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join("proc/meminfo"), b"MemTotal: \xff kB\n\0").unwrap();
        assert!(read(&Root::new(folder.path())).said.is_none());
        assert!(read(&Root::default()).said.is_some_and(|memory| memory.total_kib > 100_000));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(MemTotal|[: kB0-9\n]|\\PC){0,80}") {
            let _ = kib(&text, "MemTotal");
        }
    }
}
