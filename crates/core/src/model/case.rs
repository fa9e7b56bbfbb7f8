//! A claim about one resource over time.
//!
//! ```text
//!                 (2) an action for it was carried out
//!        ┌──────┐ ───────────────────────────────────► ┌───────┐
//! (1) ──►│ open │                                      │ acted │
//!        └──────┘ ◄─────────────────────────────────── └───────┘
//!          │   │        (3) a person undid the action      │  │
//!      (4) │   │ (5)                                   (4) │  │ (5)
//!          ▼   ▼                                           ▼  ▼
//!   ┌──────────┐ ┌───────────┐
//!   │ resolved │ │ acquitted │      both final: a later fault of the same kind opens a new case
//!   └──────────┘ └───────────┘
//! ```
//! 1. A detector finds evidence on a resource that has no open case of that fault class.
//! 2. The executor reports success of a drain for this case.
//! 3. The next pass finds the node without our drain; the case stays open and is not acted on again.
//! 4. Proof of repair: what [`ClearedBy`] asks for was seen. Silence is no proof.
//! 5. A person said it was no fault.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::words::vocabulary;
use super::{
    Advice, BootId, CaseId, CauseClass, Code, Confidence, EventId, NodeName, Provenance, Resource, RunId,
    Stamp, UnknownWord,
};

vocabulary! {
    /// Where a case stands; the drawing is at the head of this file.
    CaseState ("case state") {
        /// The claim stands, nothing has been done.
        Open = "open",
        /// The claim stands, and an action of ours was carried out for it.
        Acted = "acted",
        /// Repair was proven.
        Resolved = "resolved",
        /// A person said it was no fault.
        Acquitted = "acquitted",
    }
}

impl CaseState {
    /// Whether the claim still stands.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Acted)
    }
}

vocabulary! {
    /// What proves a fault gone. Nothing clears by silence.
    ClearedBy ("clearing") {
        /// There is no lasting fault to clear.
        None = "none",
        /// A reset of the GPU, acknowledged by the driver or by a healthy NVML reading afterwards.
        GpuReset = "gpu_reset",
        /// A new boot id and a healthy reading in it.
        Reboot = "reboot",
        /// The pending row remap took place.
        RowRemap = "row_remap",
        /// The link is up and stayed up.
        LinkUp = "link_up",
        /// The check that found it finds it good again, and has for as long as it says.
        CheckPasses = "check_passes",
        /// A person's word.
        Ack = "ack",
    }
}

/// A claim about one resource over time. At most one open case per (fault class, resource, node).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Eight hex digits, in the drain reason and on every command line.
    pub id: CaseId,
    /// Fault class: `gpu.off_bus`, `gpu.memory`, `gpu.nvlink` ... several codes may mean one fault.
    pub fault: String,
    /// The code of the event that says it best; goes into the drain reason.
    pub code: Code,
    /// Kind of cause.
    pub class: CauseClass,
    /// What is claimed to be bad.
    pub resource: Resource,
    /// The part that was in that slot when the case was opened: a GPU's serial or UUID, where known.
    #[serde(default)]
    pub part: Option<String>,
    /// On which node.
    pub node: NodeName,
    /// The boot in which it was last seen.
    pub boot: BootId,
    /// Where it stands.
    pub state: CaseState,
    /// How sure.
    pub confidence: Confidence,
    /// The strongest provenance among its evidence.
    pub provenance: Provenance,
    /// Rests on a drill or a test.
    pub synthetic: bool,
    /// What the evidence suggests for the node.
    pub advice: Advice,
    /// What would prove it gone.
    pub clears: ClearedBy,
    /// When the first evidence happened.
    pub opened_at: Stamp,
    /// When the last evidence happened.
    pub last_seen: Stamp,
    /// When it was resolved or acquitted.
    pub closed_at: Option<Stamp>,
    /// The run that was on the resource when it broke, where known.
    pub run: Option<RunId>,
    /// The evidence, oldest first.
    pub events: Vec<EventId>,
    /// Why it stands where it stands, one sentence.
    pub why: String,
    /// A person undid our action for it: nothing is done again until it recurs after a repair.
    pub stood_down: bool,
}

impl Case {
    /// Whether the claim still stands.
    pub const fn is_open(&self) -> bool {
        self.state.is_open()
    }
}
