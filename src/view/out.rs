//! A case that is closed while our drain for it still stands.
use serde::Serialize;
use triage_core::{CaseId, CaseState, Decision, Gate, Intent, OutCase, Stamp};

/// A case that is closed while our drain for it still stands, as far as the last health check saw.
#[derive(Debug, Serialize)]
pub(crate) struct OutView<'a> {
    /// The case.
    pub(crate) case: &'a CaseId,
    /// How it was closed: `resolved`, `acquitted`.
    pub(crate) state: CaseState,
    /// Why it was closed.
    pub(crate) why: &'a str,
    /// When the node was drained for it.
    pub(crate) drained_at: Stamp,
    /// The gate that holds the return; `null`: none does, or nothing was decided yet.
    pub(crate) held_by: Option<&'a str>,
    /// What that gate says.
    pub(crate) held_because: Option<&'a str>,
}

impl<'a> OutView<'a> {
    /// Those that are closed, with the last word on their return.
    pub(crate) fn all(out: &'a [OutCase], decisions: &'a [Decision]) -> Vec<Self> {
        out.iter()
            .filter(|out| !out.case.is_open())
            .map(|out| {
                let about = |decision: &&Decision| {
                    decision.intent == Intent::Resume && decision.case.as_ref() == Some(&out.case.id)
                };
                let gate = decisions.iter().rfind(about).and_then(Decision::held_by);
                Self {
                    case: &out.case.id,
                    state: out.case.state,
                    why: &out.case.why,
                    drained_at: out.drained_at,
                    held_by: gate.map(|gate| gate.name.as_str()),
                    held_because: gate.map(|gate| gate.why.as_str()),
                }
            })
            .collect()
    }
}

/// Why our drain stands, in words.
pub(crate) fn held(gate: &Gate) -> String {
    let what_then = match gate.name.as_str() {
        "verified" => " (tests are run once a boot)",
        "mode" => " (lifted where [repair] resume and [mode] drain are \"act\")",
        _ => "",
    };
    format!("held by {}: {}{what_then}", gate.name, gate.why)
}
