//! The catalogued meaning of an observation.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Advice, BootId, CauseClass, ClearedBy, Code, Confidence, EventId, NodeName, Provenance, Resource, Role,
    SourceKind, Stamp,
};

/// One observation with its meaning. Reading the same observation again gives the same event with the same id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Digest of node, boot, source, stream, cursor and code.
    pub id: EventId,
    /// The catalogue's name for it.
    pub code: Code,
    /// When it happened.
    pub at: Stamp,
    /// Where.
    pub node: NodeName,
    /// In which boot.
    pub boot: BootId,
    /// Which kind of source said so.
    pub source: SourceKind,
    /// Which one of that kind.
    pub stream: String,
    /// Position in the stream.
    pub cursor: u64,
    /// How far it can be believed.
    pub provenance: Provenance,
    /// Made for a drill or a test.
    pub synthetic: bool,
    /// The kind of cause a single such event points to.
    pub class: CauseClass,
    /// The part it plays.
    pub role: Role,
    /// What it suggests for the node, alone.
    pub advice: Advice,
    /// What one such event from a trusted source proves.
    pub confidence: Confidence,
    /// What would prove it gone.
    pub clears: ClearedBy,
    /// What it is about.
    pub resource: Resource,
    /// Named parts of the line (`pid`, `name`, `link`, `rank`, `peer`, `timeout_ms` ...).
    pub fields: BTreeMap<String, String>,
    /// The line, verbatim.
    pub text: String,
}
