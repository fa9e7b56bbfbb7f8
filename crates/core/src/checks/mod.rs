//! State checks: what is as it should be on this node, and what is not.
//!
//! One line of [`ALL`] a check, one file a family. A check is pure: it sees facts and says what differs from what is
//! expected. What follows (an event on change, a case, a decision) is the same for all of them and not its business.
//! A check that could not look is blind: neither healthy nor a fault.
mod check;
mod expect;
mod findings;
pub mod gone;
mod gpu;
mod host;
mod input;
mod nic;
mod run;
#[cfg(test)]
mod scene;
mod settings;
mod site;
mod state;

use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use crate::detectors::Names;
use crate::facts::Area;
use crate::pipeline::{Input, Trigger};
use crate::{Case, Resource};

pub use check::{Check, CheckAction, Threshold};
pub use expect::{Expect, ExpectMount, ExpectNic};
pub use findings::{Finding, Findings};
pub use host::leftovers::users as leftover_users;
pub use input::{CheckInput, Checking};
pub(crate) use run::{Checked, run};
pub use settings::{CheckSetting, CheckSettings, Setting, Where};
pub use site::SITE;
pub use state::{CheckState, CheckWord, Item, ItemState};

/// Every check of ours, by area: host first.
pub const ALL: &[Check] = &[
    host::mounts::MISSING,
    host::mounts::READ_ONLY,
    host::space::HUNG,
    host::space::SPACE,
    host::space::INODES,
    host::memory::SIZE,
    host::memory::HUGEPAGES,
    host::memory::SWAP,
    host::load::MEMORY,
    host::processes::STUCK,
    host::processes::ZOMBIES,
    host::leftovers::PROCESSES,
    host::leftovers::SHM,
    host::clock::SYNC,
    host::clock::SOURCE,
    host::cpus::COUNT,
    host::cpus::OFFLINE,
    host::cpus::GOVERNOR,
    host::services::CHECK,
    host::kernel::TAINT,
    host::kernel::UPTIME,
    host::load::LOAD,
    host::tables::TASKS,
    host::tables::FILES,
    host::raid::CHECK,
    host::disks::CHECK,
    host::smart::CHECK,
    host::firmware::CHECK,
    host::edac::UNCORRECTED,
    host::edac::CORRECTED,
    host::pstore::CHECK,
    gpu::COUNT,
    gpu::DRIVER,
    gpu::DEVICE_FILES,
    gpu::BUS,
    gpu::LOST,
    gpu::RECOVERY,
    gpu::ECC,
    gpu::ECC_CORRECTED,
    gpu::REMAP,
    gpu::REMAP_GROWTH,
    gpu::RETIRED,
    gpu::RETIRED_COUNT,
    gpu::NVLINK,
    gpu::NVLINK_ERRORS,
    gpu::FABRIC,
    gpu::FABRIC_SERVICES,
    gpu::WIDTH,
    gpu::SPEED,
    gpu::REPLAYS,
    gpu::AER,
    gpu::AER_CORRECTED,
    gpu::THROTTLE,
    gpu::TEMPERATURE,
    gpu::SPINNING,
    gpu::ACS,
    gpu::PERSISTENCE,
    gpu::LIMITS,
    gpu::VERSIONS,
    gpu::IDENTITY,
    gpu::MIG,
    gpu::LEFT_PROCESSES,
    gpu::LEFT_MEMORY,
    nic::PORT,
    nic::RATE,
    nic::INTERFACE,
    nic::ERRORS,
    nic::FLAPS,
    nic::FIRMWARE,
    nic::MODULES,
];

/// The check of this name.
pub fn find(name: &str) -> Option<&'static Check> {
    ALL.iter().find(|check| check.name == name)
}

/// The areas that the checks of a pass need.
pub fn areas(settings: &CheckSettings, trigger: Trigger) -> BTreeSet<Area> {
    let mut areas: BTreeSet<_> = ALL
        .iter()
        .filter(|check| settings.runs(check, trigger))
        .flat_map(|check| check.reads.iter().copied())
        .into_set();
    if trigger == Trigger::HealthCheck {
        areas.insert(Area::Site);
    }
    areas
}

/// The fault class a check shares with other sources, where it does.
pub(crate) fn fault_of(code: &str) -> Option<&'static str> {
    find(code.strip_prefix(CODE)?).map(|check| check.fault).filter(|fault| !fault.is_empty())
}

/// Whether a check that knows the case's fault found the same thing bad when it last looked.
pub(crate) fn holds_bad(input: &Input<'_>, case: &Case) -> bool {
    let names = Names::new(input);
    let knows = |state: &&CheckState| {
        state.state != CheckWord::Disabled
            && find(&state.name).is_some_and(|check| !check.fault.is_empty() && check.fault == case.fault)
    };
    let states = input.checks.iter().flat_map(|checking| checking.last).filter(knows);
    states.flat_map(|state| &state.items).any(|(name, item)| {
        item.state == ItemState::Bad && names.are_one(&Resource::from(name.as_str()), &case.resource)
    })
}

/// What the code of a check's event begins with; the check's name follows.
pub const CODE: &str = "check.";

/// The same for what a site's own check found.
pub const SITE_CODE: &str = "site.";

/// The name of the check behind a code: `mounts` of `check.mounts`, `site.nhc` of `site.nhc`.
pub fn name_of(code: &str) -> Option<&str> {
    code.strip_prefix(CODE).or_else(|| code.starts_with(SITE_CODE).then_some(code))
}
