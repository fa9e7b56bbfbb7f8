//! What one code means: the facts the pipeline decides with, and the words an operator reads.
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::words::vocabulary;
use crate::{Advice, CauseClass, ClearedBy, Confidence, Role, UnknownWord};

/// Text of the catalogue: built into the program, or read from a site's file.
pub type Text = Cow<'static, str>;

vocabulary! {
    /// How far a fault reaches: what has to be treated for it to go away.
    Scope ("scope") {
        /// The process that is named.
        Process = "process",
        /// One link: NVLink, PCIe or network.
        Link = "link",
        /// One GPU.
        Gpu = "gpu",
        /// All GPUs of the node behind its NVSwitches, or of the NVLink domain.
        Fabric = "fabric",
        /// One PCI device that is no GPU.
        Pci = "pci",
        /// One network device.
        Nic = "nic",
        /// One disk or array.
        Disk = "disk",
        /// One filesystem, wherever its server is.
        Filesystem = "filesystem",
        /// Host memory.
        Memory = "memory",
        /// One CPU or socket.
        Cpu = "cpu",
        /// One service, driver or kernel module.
        Service = "service",
        /// One job.
        Job = "job",
        /// The whole node.
        Node = "node",
    }
}

/// One entry of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The code: `xid.79`.
    pub code: Text,
    /// Short name; the vendor's mnemonic where it has one.
    pub name: Text,
    /// The fault the code is evidence of (`gpu.off_bus`). Codes of one fault and one resource make one case.
    pub fault: Text,
    /// Kind of cause a single such event points to.
    pub class: CauseClass,
    /// Part it plays among other events.
    pub role: Role,
    /// How far the fault reaches.
    pub scope: Scope,
    /// What one event from a trusted source suggests for its node.
    pub action: Advice,
    /// What one event from a trusted source proves.
    pub confidence: Confidence,
    /// What proves the fault gone.
    pub clears: ClearedBy,
    /// What happened.
    pub description: Text,
    /// What the suite does about it.
    pub response: Text,
    /// What it means for the job and the node.
    pub impact: Text,
    /// What a person should do.
    pub remedy: Text,
    /// Where the facts come from: document and version.
    pub source: Text,
    /// Why a site changed or added the entry; empty for an entry as shipped.
    pub reason: Text,
}

/// Changes to an entry's facts that one wording of the line, or one decoded register, asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// Kind of cause instead.
    pub class: Option<CauseClass>,
    /// Part played instead.
    pub role: Option<Role>,
    /// Suggestion instead.
    pub action: Option<Advice>,
    /// What is proven instead.
    pub confidence: Option<Confidence>,
    /// What clears it instead.
    pub clears: Option<ClearedBy>,
}

impl Change {
    /// No change at all.
    pub const NONE: Self = Self { class: None, role: None, action: None, confidence: None, clears: None };

    /// Reads it from a packed record: five words, empty where nothing changes.
    pub(super) fn unpack(fields: &mut super::Fields) -> Option<Self> {
        Some(Self {
            class: fields.word_if_any()?,
            role: fields.word_if_any()?,
            action: fields.word_if_any()?,
            confidence: fields.word_if_any()?,
            clears: fields.word_if_any()?,
        })
    }

    /// Makes the changes to `entry`.
    pub(crate) fn apply(self, entry: &mut Entry) {
        entry.class = self.class.unwrap_or(entry.class);
        entry.role = self.role.unwrap_or(entry.role);
        entry.action = self.action.unwrap_or(entry.action);
        entry.confidence = self.confidence.unwrap_or(entry.confidence);
        entry.clears = self.clears.unwrap_or(entry.clears);
    }
}
