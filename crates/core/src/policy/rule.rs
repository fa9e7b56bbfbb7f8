//! One rule of the policy.
use serde::{Deserialize, Serialize};

use super::{Claim, Glob, Hosts, Hours, UtcOffset, Weekday};
use crate::{CauseClass, Confidence, Intent, Mode, Provenance, Stamp};

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
    /// Whose word it is: `trusted` or `user`; left out: anybody's.
    #[serde(default)]
    pub evidence: Option<Provenance>,
    /// Nodes to blame (`gpu[01-16]`, `rack2-*`); one of them is enough. Empty: any.
    #[serde(default)]
    pub nodes: Vec<Hosts>,
    /// Partitions of the node or of the job; empty: any.
    #[serde(default)]
    pub partition: Vec<Glob>,
    /// Accounts of the job; empty: any.
    #[serde(default)]
    pub account: Vec<Glob>,
    /// Qualities of service of the job; empty: any.
    #[serde(default)]
    pub qos: Vec<Glob>,
    /// Owners of the job; empty: any.
    #[serde(default)]
    pub user: Vec<Glob>,
    /// Hours of the day; empty: any.
    #[serde(default)]
    pub hours: Vec<Hours>,
    /// Days of the week; empty: any.
    #[serde(default)]
    pub weekdays: Vec<Weekday>,
    /// How often the fault came.
    #[serde(default)]
    pub repeats: Option<Repeats>,
    /// What is wanted for the node: `none`, `note`, `drain`, `reboot_when_idle`, `down`.
    #[serde(default = "note")]
    pub node: Intent,
    /// What is wanted for the job: `none`, `note`, `requeue`, `requeue_hold`, `stop`.
    #[serde(default = "note")]
    pub job: Intent,
    /// `monitor` holds this rule back even where the site acts.
    #[serde(default)]
    pub mode: Option<Mode>,
}

/// A fault that came again: so many cases on the same resource within so many days, the present one among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeats {
    /// At least so many cases.
    pub count: u32,
    /// Within so many days before the decision.
    pub days: u32,
}

/// Whether a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// It would, if this were known to be so.
    Unknown(&'static str),
}

const fn suspected() -> Confidence {
    Confidence::Suspected
}

const fn note() -> Intent {
    Intent::Note
}

impl Rule {
    /// A rule that matches everything and notes it.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            class: Vec::new(),
            confidence: Confidence::Suspected,
            code: Vec::new(),
            resource: Vec::new(),
            evidence: None,
            nodes: Vec::new(),
            partition: Vec::new(),
            account: Vec::new(),
            qos: Vec::new(),
            user: Vec::new(),
            hours: Vec::new(),
            weekdays: Vec::new(),
            repeats: None,
            node: Intent::Note,
            job: Intent::Note,
            mode: None,
        }
    }

    /// Whether it has no condition at all, so that no rule behind it is ever reached.
    pub fn matches_everything(&self) -> bool {
        let open = Self {
            name: self.name.clone(),
            node: self.node,
            job: self.job,
            mode: self.mode,
            ..Self::named("")
        };
        *self == open
    }

    pub(super) fn judge(&self, claim: &Claim<'_>, offset: UtcOffset) -> Match {
        let any = |globs: &[Glob], text: &str| globs.is_empty() || globs.iter().any(|g| g.matches(text));
        let certain = (self.class.is_empty() || self.class.contains(&claim.class))
            && claim.confidence >= self.confidence
            && self.evidence.is_none_or(|wanted| wanted == claim.evidence)
            && any(&self.code, claim.code.as_str())
            && (self.resource.is_empty() || any(&self.resource, &claim.resource.to_string()));
        if !certain {
            return Match::No;
        }
        let mut unknown = None;
        for (fact, holds) in self.circumstances(claim, offset) {
            match holds {
                Some(true) => {}
                Some(false) => return Match::No,
                None => unknown = unknown.or(Some(fact)),
            }
        }
        unknown.map_or(Match::Yes, Match::Unknown)
    }

    /// Conditions over what may not be known; `None` where it is not.
    fn circumstances(&self, claim: &Claim<'_>, offset: UtcOffset) -> [(&'static str, Option<bool>); 8] {
        let text = |globs: &[Glob], known: Option<&str>| {
            if globs.is_empty() {
                Some(true)
            } else {
                known.map(|text| globs.iter().any(|g| g.matches(text)))
            }
        };
        let several =
            |idle: bool, known: bool, holds: bool| if idle { Some(true) } else { known.then_some(holds) };
        let in_partition = claim.partitions.iter().any(|p| self.partition.iter().any(|g| g.matches(p)));
        let on_node = claim.nodes.iter().any(|node| self.nodes.iter().any(|hosts| hosts.has(node)));
        let at =
            |holds: &dyn Fn(Stamp) -> bool, idle: bool| if idle { Some(true) } else { claim.at.map(holds) };
        [
            ("node", several(self.nodes.is_empty(), !claim.nodes.is_empty(), on_node)),
            ("partition", several(self.partition.is_empty(), !claim.partitions.is_empty(), in_partition)),
            ("account", text(&self.account, claim.account)),
            ("QOS", text(&self.qos, claim.qos)),
            ("user", text(&self.user, claim.user)),
            ("hour", at(&|at| self.hours.iter().any(|hours| hours.has(at, offset)), self.hours.is_empty())),
            ("day", at(&|at| self.weekdays.contains(&Weekday::of(at, offset)), self.weekdays.is_empty())),
            ("history", self.repeats.map_or(Some(true), |repeats| repeats.holds(claim))),
        ]
    }

    /// What is wrong with the rule, in words, where something is.
    pub fn fault(&self) -> Option<String> {
        if self.name.trim().is_empty() {
            return Some("the rule has no name: give it one, decisions are shown by it".to_owned());
        }
        if !matches!(self.node, Intent::None | Intent::Note) && !self.node.takes_node_out() {
            return Some(format!(
                "node = \"{}\" is nothing to do to a node: use none, note, drain, reboot_when_idle or down",
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
        match self.repeats {
            Some(Repeats { count: 0, .. } | Repeats { days: 0, .. }) => {
                Some("repeats with a zero in it never holds: count and days are 1 or more".to_owned())
            }
            _ => None,
        }
    }
}

impl Repeats {
    fn holds(self, claim: &Claim<'_>) -> Option<bool> {
        let (at, opened) = (claim.at?, claim.repeats?);
        let since = at.plus_secs(-i64::from(self.days).saturating_mul(86_400));
        let count = opened.iter().filter(|opened| **opened >= since && **opened <= at).count();
        Some(u32::try_from(count).unwrap_or(u32::MAX) >= self.count)
    }
}

/// The rules that hold without a file.
pub(super) fn defaults() -> Vec<Rule> {
    let of = |name: &str, class: CauseClass, confidence: Confidence, node: Intent| Rule {
        class: vec![class],
        confidence,
        node,
        job: Intent::Requeue,
        ..Rule::named(name)
    };
    vec![
        of("hardware-confirmed", CauseClass::Hardware, Confidence::Confirmed, Intent::Drain),
        of("system-confirmed", CauseClass::System, Confidence::Confirmed, Intent::Drain),
        of("network-probable", CauseClass::Network, Confidence::Probable, Intent::Note),
        Rule::named("everything-else"),
    ]
}
