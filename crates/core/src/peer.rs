//! What a node tells the batch host through its own node record: one small JSON object under our key in `Extra`.
use serde::{Deserialize, Serialize};

use crate::json;
use crate::{Case, CaseId, CauseClass, Code, Confidence, NodeRecord, PeerEvidence, Resource, Stamp};

/// Our key in the node's `Extra` object.
pub const KEY: &str = "slurm_triage";

/// Longest body a node publishes, bytes: it travels with every read of the node table.
pub const MAX_BODY: usize = 1024;

/// Longest `Extra` we look into. Other programs may keep much there; it is read on a deadline.
const MAX_EXTRA: usize = 256 * 1024;

/// Version 1 of the body. Unknown fields of later versions are ignored; another `v` is not read.
#[derive(Debug, Serialize, Deserialize)]
struct Body {
    v: u32,
    case: CaseId,
    code: Code,
    resource: Resource,
    class: CauseClass,
    confidence: Confidence,
    at: Stamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    synthetic: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<u32>,
}

/// The body that tells of `case`; `None` when it would be too long to publish.
pub fn body(case: &Case, job: Option<u32>) -> Option<String> {
    let body = Body {
        v: 1,
        case: case.id.clone(),
        code: case.code.clone(),
        resource: case.resource.clone(),
        class: case.class,
        confidence: case.confidence,
        at: case.last_seen,
        synthetic: case.synthetic,
        job,
    };
    serde_json::to_string(&body).ok().filter(|text| text.len() <= MAX_BODY)
}

/// What the node's record says under our key; `None` when nothing is there or it cannot be understood.
pub fn read(record: &NodeRecord) -> Option<PeerEvidence> {
    if record.extra.len() > MAX_EXTRA {
        return None;
    }
    let mut extra: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&record.extra).ok()?;
    let body = json::from_value::<Body>(extra.remove(KEY)?).ok().filter(|body| body.v == 1)?;
    Some(PeerEvidence {
        node: record.node.clone(),
        case: body.case,
        code: body.code,
        resource: body.resource,
        class: body.class,
        confidence: body.confidence,
        at: body.at,
        synthetic: body.synthetic,
        job: body.job,
    })
}
