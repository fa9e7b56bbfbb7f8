//! A drain that is wanted and held.
use serde::Serialize;
use triage_core::policy::{AGAIN, Brakes};
use triage_core::{Case, CaseId, Decision, Intent, Stamp, Subject};

/// A drain that is wanted for an open case and that a gate holds, by the last decision about it. What the mode holds is the
/// policy's word as a whole, and a case that stood down says so itself: neither is here.
#[derive(Debug, Serialize)]
pub(crate) struct HeldView<'a> {
    /// The case.
    pub(crate) case: &'a CaseId,
    /// The gate.
    pub(crate) held_by: &'a str,
    /// What the gate says.
    pub(crate) because: &'a str,
    /// Since when this gate holds it.
    pub(crate) since: Stamp,
    /// From when on it is looked at again; `null`: by every health check.
    pub(crate) next_look: Option<Stamp>,
}

impl<'a> HeldView<'a> {
    /// Of this case, whose decisions are among `decisions`, oldest first.
    pub(crate) fn of(case: &'a Case, decisions: &'a [Decision], brake: &Brakes) -> Option<Self> {
        let about = |decision: &&Decision| is_drain_for(decision, case);
        let last = decisions.iter().rfind(about)?;
        let gate = last.held_by().filter(|gate| !["mode", "stand_down"].contains(&gate.name.as_str()))?;
        let by_it = |decision: &&Decision| decision.held_by().is_some_and(|held| held.name == gate.name);
        let first = decisions.iter().rev().filter(about).take_while(by_it).last().unwrap_or(last);
        Some(Self {
            case: &case.id,
            held_by: &gate.name,
            because: gate.why.split(AGAIN).next().unwrap_or_default(),
            since: first.at,
            next_look: (gate.name == "brake").then(|| brake.next_look(case.opened_at, last.at)),
        })
    }

    /// When it is decided anew, in words.
    pub(crate) fn next(&self) -> String {
        match (self.held_by, self.next_look) {
            (_, Some(at)) => format!("from {} on", crate::render::seconds(at)),
            ("operator_hold", _) => "once the hold is over".to_owned(),
            ("exception", _) => "once the policy no longer excepts it".to_owned(),
            _ => "with each health check".to_owned(),
        }
    }
}

/// Whether the decision is about draining the node for this case.
pub(crate) fn is_drain_for(decision: &Decision, case: &Case) -> bool {
    decision.intent == Intent::Drain
        && matches!(decision.subject, Subject::Node(_))
        && decision.case.as_ref() == Some(&case.id)
}
