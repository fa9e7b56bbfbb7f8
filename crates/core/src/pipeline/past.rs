//! What a pass is told of earlier ones beside their open cases, and what it needs to read old evidence by.
use crate::serd::{Engine, Thresholds};
use crate::{PciAddress, Resource, Stamp};

/// What is left of earlier passes.
#[derive(Debug, Clone, Default)]
pub struct Past {
    /// When the ledger was begun. What happened well before that was seen by nobody, and may have been repaired since.
    pub since: Option<Stamp>,
    /// When this boot began, where the machine tells.
    pub booted: Option<Stamp>,
    /// Counts of repeats, as they stood.
    pub engines: Vec<Engine>,
    /// Faults whose repair was proven or that a person acquitted, each with its last closing.
    pub closed: Vec<Closed>,
    /// From how many repeats on something is a fault.
    pub thresholds: Thresholds,
    /// GPUs and network adapters with the bridges above them. Only asked for when a PCIe port complains.
    pub endpoints: Vec<Endpoint>,
}

/// The last closing of a fault on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The fault class.
    pub fault: String,
    /// The resource.
    pub resource: Resource,
    /// When the case was closed.
    pub at: Stamp,
    /// A person called it no fault. What is closed otherwise counts as repaired.
    pub acquitted: bool,
}

/// Something a job uses at the end of a chain of PCIe bridges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The GPU, NVSwitch or network adapter.
    pub resource: Resource,
    /// Its function on the bus.
    pub address: PciAddress,
    /// The bridges between it and the root, the root port first.
    pub above: Vec<PciAddress>,
}
