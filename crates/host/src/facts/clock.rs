//! The clock: whether the kernel holds it for synchronised, and what it counts with.
use triage_core::facts::Sheet;
use triage_core::facts::host::Clock;

use super::attr;
use crate::proc::Root;

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";

/// Reads the kernel's clock, and its source below `root`.
pub(super) fn read(root: &Root) -> Sheet<Clock> {
    let folder = root.at(FOLDER);
    let mut clock = Clock {
        source: attr::text(&folder.join("current_clocksource")),
        available: attr::text(&folder.join("available_clocksource"))
            .map(|text| text.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        ..Clock::default()
    };
    let mut blind = Vec::new();
    match discipline() {
        Ok((synchronised, max_error_us)) => {
            clock.synchronised = Some(synchronised);
            clock.max_error_us = Some(max_error_us);
        }
        Err(error) => blind.push(format!("adjtimex: {error}")),
    }
    Sheet { said: Some(clock), blind, cost_us: 0 }
}

/// adjtimex(2) without a change to make, which anybody may ask.
fn discipline() -> std::io::Result<(bool, i64)> {
    // SAFETY: a struct of numbers; all zero means that nothing is to be changed.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure that lives through the call.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let synchronised = state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0;
    Ok((synchronised, timex.maxerror))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_tells_one_way_or_the_other() {
        let sheet = read(&Root::default());
        let clock = sheet.said.unwrap();
        assert_eq!(clock.synchronised.is_some(), sheet.blind.is_empty());
    }

    #[test]
    fn a_source_that_is_no_word_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("sys/devices/system/clocksource/clocksource0");
        std::fs::create_dir_all(&at).unwrap();
        std::fs::write(at.join("current_clocksource"), b"ts\0c\n").unwrap();
        std::fs::write(at.join("available_clocksource"), "tsc hpet acpi_pm \n").unwrap();
        let clock = read(&Root::new(folder.path())).said.unwrap();
        assert_eq!((clock.source, clock.available.len()), (None, 3));
    }
}
