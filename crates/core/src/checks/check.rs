//! What a check is.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{CheckInput, Findings, Where};
use crate::facts::Area;
use crate::model::words::vocabulary;
use crate::{Advice, CauseClass, UnknownWord};

vocabulary! {
    /// The most a check may ask for. Policy still decides, and monitor mode still holds it back.
    CheckAction ("check action") {
        /// Written down and shown.
        Note = "note",
        /// Nothing until a job is about to begin here: that job is refused. Slurm drains the node of a prolog that
        /// refuses, so from then on the case asks for a drain.
        Refuse = "refuse",
        /// Take the node out, and refuse jobs until it is.
        Drain = "drain",
    }
}

/// A figure a check compares with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// The default.
    pub value: f64,
    /// Its unit and direction: `% used, at least`.
    pub unit: &'static str,
    /// Where the figure comes from.
    pub source: &'static str,
}

/// One state check.
pub struct Check {
    /// Its name: `[checks.NAME]`, and `check.NAME` is the code of its events.
    pub name: &'static str,
    /// What it finds, half a sentence for the table of docs/checks.md.
    pub finds: &'static str,
    /// The areas it needs. One of them blind makes the check blind.
    pub reads: &'static [Area],
    /// Where it runs unless the site says otherwise.
    pub at: &'static [Where],
    /// The most it may ask for unless the site says otherwise.
    pub action: CheckAction,
    /// What its case asks for when it may ask for the node to go out.
    pub advice: Advice,
    /// Its threshold, where it has one.
    pub threshold: Option<Threshold>,
    /// The kind of cause.
    pub class: CauseClass,
    /// The fault class of its cases where other sources know the same fault; empty: its own, `check.NAME`.
    pub fault: &'static str,
    /// How long it must be bad before it counts, seconds of event time: 0, at once.
    pub bad_for_s: i64,
    /// How long it must be good again before its case is closed, seconds of event time.
    pub good_for_s: i64,
    /// Another source makes the cases of what it finds; here it is only listed with its result.
    pub listed: bool,
    /// Looks. Pure, cheap, no panic on any facts.
    pub evaluate: fn(&CheckInput<'_>, &mut Findings),
}

impl Check {
    /// What most checks are: run by the health check, note only, for the host's software.
    pub const HOST: Self = Self {
        name: "",
        finds: "",
        reads: &[],
        at: &[Where::HealthCheck],
        action: CheckAction::Note,
        advice: Advice::Drain,
        threshold: None,
        class: CauseClass::System,
        fault: "",
        bad_for_s: 0,
        good_for_s: 300,
        listed: false,
        evaluate: |_, _| {},
    };

    /// The code of its events.
    pub fn code(&self) -> String {
        format!("{}{}", super::CODE, self.name)
    }
}
