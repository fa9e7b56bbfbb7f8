//! One rule of the policy.
use serde::{Deserialize, Serialize};

use super::Glob;
use crate::{CauseClass, Code, Confidence, Intent, Mode, Resource};

/// What a rule is asked about: a case, or the verdict over a job.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Kind of cause.
    pub class: CauseClass,
    /// How sure.
    pub confidence: Confidence,
    /// The leading code.
    pub code: &'a Code,
    /// What is bad.
    pub resource: &'a Resource,
}

/// One rule: conditions, all of which must hold, and what is wanted then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, shown with every decision it makes.
    pub name: String,
    /// Kinds of cause; empty: any.
    #[serde(default)]
    pub class: Vec<CauseClass>,
    /// At least this sure.
    #[serde(default = "suspected")]
    pub confidence: Confidence,
    /// Codes (`xid.*`); empty: any.
    #[serde(default)]
    pub code: Vec<Glob>,
    /// Resources (`gpu:*`); empty: any.
    #[serde(default)]
    pub resource: Vec<Glob>,
    /// What is wanted for the node: `none`, `note`, `drain`.
    #[serde(default = "note")]
    pub node: Intent,
    /// What is wanted for the job: `none`, `note`, `requeue`, `requeue_hold`, `stop`.
    #[serde(default = "note")]
    pub job: Intent,
    /// `monitor` holds this rule back even where the site acts.
    #[serde(default)]
    pub mode: Option<Mode>,
}

const fn suspected() -> Confidence {
    Confidence::Suspected
}

const fn note() -> Intent {
    Intent::Note
}

impl Rule {
    /// Whether every condition holds.
    pub fn matches(&self, claim: &Claim<'_>) -> bool {
        let any = |globs: &[Glob], text: &str| globs.is_empty() || globs.iter().any(|g| g.matches(text));
        (self.class.is_empty() || self.class.contains(&claim.class))
            && claim.confidence >= self.confidence
            && any(&self.code, claim.code.as_str())
            && (self.resource.is_empty() || any(&self.resource, &claim.resource.to_string()))
    }

    /// What is wrong with the rule, in words, where something is.
    pub fn fault(&self) -> Option<String> {
        if self.name.trim().is_empty() {
            return Some("the rule has no name: give it one, decisions are shown by it".to_owned());
        }
        if !matches!(self.node, Intent::None | Intent::Note | Intent::Drain) {
            return Some(format!(
                "node = \"{}\" is nothing to do to a node: use none, note or drain",
                self.node
            ));
        }
        if !matches!(
            self.job,
            Intent::None | Intent::Note | Intent::Requeue | Intent::RequeueHold | Intent::Stop
        ) {
            return Some(format!(
                "job = \"{}\" is nothing to do to a job: use none, note, requeue, requeue_hold or stop",
                self.job
            ));
        }
        None
    }
}

/// The rules that hold without a file.
pub(super) fn defaults() -> Vec<Rule> {
    let rest = Rule {
        name: "everything-else".to_owned(),
        class: Vec::new(),
        confidence: Confidence::Suspected,
        code: Vec::new(),
        resource: Vec::new(),
        node: Intent::Note,
        job: Intent::Note,
        mode: None,
    };
    let of = |name: &str, class: CauseClass, confidence: Confidence, node: Intent| Rule {
        name: name.to_owned(),
        class: vec![class],
        confidence,
        node,
        job: Intent::Requeue,
        ..rest.clone()
    };
    vec![
        of("hardware-confirmed", CauseClass::Hardware, Confidence::Confirmed, Intent::Drain),
        of("system-confirmed", CauseClass::System, Confidence::Confirmed, Intent::Drain),
        of("network-probable", CauseClass::Network, Confidence::Probable, Intent::Note),
        rest,
    ]
}
