//! What the site wants done: an ordered table of rules, first match wins.
//!
//! A policy can only be read whole. A file that does not parse never widens what we do: the caller falls back to
//! [`Policy::default`], which is monitor mode.
mod brakes;
mod claim;
mod glob;
mod hosts;
mod hours;
mod limits;
mod repair;
mod rule;

pub use brakes::{AGAIN, Brakes};
pub use claim::Claim;
pub use glob::Glob;
pub use hosts::{BadHosts, Hosts};
pub use hours::{BadTime, Hours, UtcOffset, Weekday};
pub use limits::{Except, JobLimits, NodeLimits};
pub(crate) use repair::PCI;
pub use repair::{Command, Repair, Step};
pub use rule::{Repeats, Rule};

use serde::{Deserialize, Serialize};

use crate::{Action, Intent, Mode};

/// The site's policy, `policy.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Format of the file; this version knows 1.
    pub version: u32,
    /// Whether decisions are carried out, per action.
    #[serde(default)]
    pub mode: Modes,
    /// Bounds on what we do to one job.
    #[serde(default)]
    pub job: JobLimits,
    /// Bounds on what we do to one node.
    #[serde(default)]
    pub node: NodeLimits,
    /// Bounds on drains across the cluster.
    #[serde(default)]
    pub brake: Brakes,
    /// To whom nothing is ever done.
    #[serde(default)]
    pub except: Except,
    /// How far the site's clocks are ahead of UTC, for the hours and days of rules.
    #[serde(default)]
    pub utc_offset: UtcOffset,
    /// How a node we took out comes back.
    #[serde(default)]
    pub repair: Repair,
    /// The rules, in order.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

/// Monitor or act, for each kind of action. What is not named follows `default`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modes {
    /// For every action without a word of its own.
    #[serde(default = "monitor")]
    pub default: Mode,
    /// Draining a node.
    pub drain: Option<Mode>,
    /// Requeueing a job.
    pub requeue: Option<Mode>,
    /// Refusing a job in the prolog.
    pub refuse_job: Option<Mode>,
    /// Setting a node down, which ends its jobs. Only where a rule asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Mode>,
}

const fn monitor() -> Mode {
    Mode::Monitor
}

impl Default for Modes {
    fn default() -> Self {
        Self { default: Mode::Monitor, drain: None, requeue: None, refuse_job: None, down: None }
    }
}

impl Modes {
    /// The mode an intent runs in.
    pub fn of(&self, intent: Intent) -> Mode {
        let own = match intent {
            Intent::Drain
            | Intent::RebootWhenIdle
            | Intent::Resume
            | Intent::Reset
            | Intent::Reboot
            | Intent::Verify => self.drain,
            Intent::Down => self.down,
            Intent::Requeue | Intent::RequeueHold | Intent::Stop => self.requeue,
            Intent::RefuseJob => self.refuse_job,
            Intent::None | Intent::Note => None,
        };
        own.unwrap_or(self.default)
    }
}

impl Policy {
    /// Whether the site lets an action of this kind be carried out at all: what was wanted under an earlier policy may still
    /// wait.
    pub fn carries_out(&self, action: &Action) -> bool {
        let intent = match action {
            Action::Drain { .. } => Intent::Drain,
            Action::Publish { body, .. } if !body.is_empty() => Intent::Drain,
            Action::Down { .. } => Intent::Down,
            Action::Reset { .. } => Intent::Reset,
            Action::Reboot { .. } => Intent::Reboot,
            Action::Verify { .. } => Intent::Verify,
            Action::Resume { .. } => Intent::Resume,
            Action::Requeue { hold: true, .. } => Intent::RequeueHold,
            Action::Requeue { .. }
            | Action::KillSteps { .. }
            | Action::LastLine { .. }
            | Action::Explain { .. } => Intent::Requeue,
            Action::RefuseJob { .. } => Intent::RefuseJob,
            // These end or take back what was done.
            Action::ConfirmDrain { .. } | Action::ClearBeginTime { .. } | Action::Publish { .. } => {
                return true;
            }
        };
        self.mode.of(intent) == Mode::Act
    }
}

/// The policy that holds without a file, and what the shipped `policy.toml` says.
pub const DEFAULT_POLICY: &str = include_str!("../../../../etc/policy.toml");

impl Default for Policy {
    /// Monitor mode; confirmed hardware and system faults would drain and requeue, network trouble would requeue, the rest
    /// is noted.
    fn default() -> Self {
        Self {
            version: 1,
            mode: Modes::default(),
            job: JobLimits::default(),
            node: NodeLimits::default(),
            brake: Brakes::default(),
            except: Except::default(),
            utc_offset: UtcOffset::default(),
            repair: Repair::default(),
            rules: rule::defaults(),
        }
    }
}

impl Policy {
    /// The first rule that matches the claim. Without any, the claim is noted. A rule that only fails to match because
    /// something is not known leaves the answer in doubt: the answer is followed in monitor mode then.
    pub fn rule_for(&self, claim: &Claim<'_>) -> Matched<'_> {
        let mut doubt = None;
        for rule in &self.rules {
            match rule.judge(claim, self.utc_offset) {
                rule::Match::Yes => return Matched::of(rule, doubt),
                rule::Match::No => {}
                rule::Match::Unknown(fact) => doubt = doubt.or(Some(Doubt { rule: &rule.name, fact })),
            }
        }
        Matched { name: "no rule matched", node: Intent::Note, job: Intent::Note, mode: None, doubt }
    }

    /// What is wrong with it beside its rules, in words, where something is.
    pub fn fault(&self) -> Option<String> {
        self.brake.fault().or_else(|| self.repair.fault())
    }

    /// Whether some rule asks how often a fault came.
    pub fn asks_for_history(&self) -> bool {
        self.rules.iter().any(|rule| rule.repeats.is_some())
    }
}

/// A rule that might have matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt<'a> {
    /// Its name.
    pub rule: &'a str,
    /// What is not known.
    pub fact: &'static str,
}

/// What the first matching rule wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matched<'a> {
    /// The rule's name.
    pub name: &'a str,
    /// For the node.
    pub node: Intent,
    /// For the job.
    pub job: Intent,
    /// The rule's own mode, where it has one. It can only be stricter than the action's.
    pub mode: Option<Mode>,
    /// An earlier rule that might have matched, were more known.
    pub doubt: Option<Doubt<'a>>,
}

impl<'a> Matched<'a> {
    fn of(rule: &'a Rule, doubt: Option<Doubt<'a>>) -> Self {
        Self { name: &rule.name, node: rule.node, job: rule.job, mode: rule.mode, doubt }
    }
}

impl Matched<'_> {
    /// The mode `intent` runs in: act only when both the action's mode and the rule's own say so.
    pub fn mode_for(&self, modes: &Modes, intent: Intent) -> Mode {
        match (modes.of(intent), self.mode) {
            (Mode::Act, None | Some(Mode::Act)) => Mode::Act,
            _ => Mode::Monitor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CauseClass, Code, Confidence, Resource};

    fn claim<'a>(
        class: CauseClass,
        confidence: Confidence,
        code: &'a Code,
        resource: &'a Resource,
    ) -> Claim<'a> {
        Claim::new(class, confidence, code, resource)
    }

    #[test]
    fn default_drains_only_for_confirmed_faults_of_the_node() {
        let policy = Policy::default();
        let code = Code::from("xid.79");
        for class in CauseClass::ALL {
            for confidence in Confidence::ALL {
                let got = policy.rule_for(&claim(*class, *confidence, &code, &Resource::Host));
                let expect_drain = matches!(class, CauseClass::Hardware | CauseClass::System)
                    && *confidence == Confidence::Confirmed;
                assert_eq!(got.node == Intent::Drain, expect_drain, "{class} {confidence}: {}", got.name);
            }
        }
    }

    #[test]
    fn default_never_runs_a_job_again_for_what_its_program_did_or_nobody_knows() {
        let policy = Policy::default();
        let code = Code::from("x");
        for class in [CauseClass::Application, CauseClass::Unknown, CauseClass::None] {
            for confidence in Confidence::ALL {
                assert_eq!(
                    policy.rule_for(&claim(class, *confidence, &code, &Resource::Job)).job,
                    Intent::Note
                );
            }
        }
    }

    #[test]
    fn default_acts_on_nothing() {
        let modes = Policy::default().mode;
        for intent in Intent::ALL {
            assert_eq!(modes.of(*intent), Mode::Monitor);
        }
    }

    #[test]
    fn a_rule_in_monitor_is_not_widened_by_the_site_mode() {
        let matched = Matched {
            name: "r",
            node: Intent::Drain,
            job: Intent::Note,
            mode: Some(Mode::Monitor),
            doubt: None,
        };
        let modes = Modes { default: Mode::Act, ..Modes::default() };
        assert_eq!(matched.mode_for(&modes, Intent::Drain), Mode::Monitor);
    }

    #[test]
    fn a_rule_in_act_does_not_widen_a_monitor_site() {
        let matched =
            Matched { name: "r", node: Intent::Drain, job: Intent::Note, mode: Some(Mode::Act), doubt: None };
        assert_eq!(matched.mode_for(&Modes::default(), Intent::Drain), Mode::Monitor);
    }
}
