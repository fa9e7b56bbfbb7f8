//! From events to cases. One file a detector, and one line in [`ALL`]; order matters: evidence first, then what
//! closes cases, then what a person did.
mod book;
mod clearing;
mod driver;
mod faults;
mod forced_kill;
mod gate;
mod gpu_fault;
mod lockup;
mod memory;
mod netfs;
mod nic;
mod oom;
mod open;
mod own_reset;
mod pcie;
mod rates;
mod reboot;
mod recovery;
mod replaced;
mod same;
mod state_check;
mod storage;
mod undone;

pub use book::CaseBook;
pub(crate) use faults::{fault_of, joins_any};
pub(crate) use same::Names;
pub(crate) use state_check::close_what_passes;

use crate::Event;
use crate::pipeline::Input;

/// One detector.
pub struct Detector {
    /// Its name.
    pub name: &'static str,
    /// Reads the new events and changes the book. Must be idempotent: on its own output it changes nothing.
    pub detect: fn(&Input<'_>, &[Event], &mut CaseBook<'_>),
}

/// Every detector, in order.
pub const ALL: &[Detector] = &[
    gpu_fault::DETECTOR,
    state_check::DETECTOR,
    pcie::DETECTOR,
    nic::DETECTOR,
    memory::DETECTOR,
    oom::DETECTOR,
    lockup::DETECTOR,
    storage::DETECTOR,
    netfs::DETECTOR,
    driver::DETECTOR,
    rates::DETECTOR,
    replaced::DETECTOR,
    clearing::DETECTOR,
    own_reset::DETECTOR,
    recovery::DETECTOR,
    reboot::DETECTOR,
    undone::DETECTOR,
];
