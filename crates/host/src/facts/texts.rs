//! Every parser of a text of `/proc` and `/sys` in one place, for the fuzz target `node_facts`: the kernel writes these texts, but a
//! job chooses the names in them, and a container may lay its own files over them.
use std::path::Path;

use triage_core::PciAddress;

use super::{attr, cpus, driver, memory, mounts, nic, pci, processes, raid};

/// Reads the bytes as each of them. A parser that panics does so here.
///
/// # Panics
/// Where a parser broke its word: a list longer than any machine has, a value with a control character in it.
pub fn read_as_each(bytes: &[u8]) {
    if let Some(value) = attr::clean(bytes) {
        assert!(!value.chars().any(char::is_control));
        let _ = (nic::rate(value), pci::speed(value));
        let _ = pci::upstream(Path::new(value), PciAddress::default());
        assert!(cpus::cpu_list(value).is_none_or(|list| list.len() <= 3 * 8192));
    }
    let _ = (processes::parse(bytes).is_some(), pci::total(bytes));
    let _ = pci::redirects(|at| {
        let at = usize::try_from(at).ok()?;
        Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
    });
    let text = String::from_utf8_lossy(bytes);
    let _ = (memory::kib(&text, "MemTotal"), raid::mdstat(&text));
    let _ = (driver::modules(&text), driver::version(&text), driver::job_of(&text));
    for mount in mounts::mountinfo(&text).into_iter().chain(mounts::fstab(&text)) {
        assert!(mount.path.len() <= bytes.len() * 3, "a replaced byte is three");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_answered_by_every_parser(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            super::read_as_each(&bytes);
        }
    }
}
