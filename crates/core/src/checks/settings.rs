//! `[checks.NAME]` in triage.toml: what the site says of single checks.
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Check, CheckAction};
use crate::model::words::vocabulary;
use crate::pipeline::Trigger;
use crate::{Mode, UnknownWord};

vocabulary! {
    /// Where a check runs.
    Where ("where") {
        /// `triage-prolog`: a job waits for it.
        Prolog = "prolog",
        /// `triage-epilog`.
        Epilog = "epilog",
        /// `triage-healthcheck`.
        HealthCheck = "healthcheck",
    }
}

impl Where {
    /// The place a pass is at.
    pub const fn of(trigger: Trigger) -> Self {
        match trigger {
            Trigger::Prolog => Self::Prolog,
            Trigger::Epilog => Self::Epilog,
            Trigger::HealthCheck => Self::HealthCheck,
        }
    }
}

/// What the site says of one check; what it leaves out is the check's own default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckSetting {
    /// Run it at all.
    pub enabled: Option<bool>,
    /// Where it runs.
    #[serde(rename = "where")]
    pub at: Option<Vec<Where>>,
    /// The most it may ask for.
    pub action: Option<CheckAction>,
    /// `monitor` holds it back even where policy acts.
    pub mode: Option<Mode>,
    /// Its threshold, in the unit of docs/checks.md.
    pub threshold: Option<f64>,
    /// How long it must be bad before it counts, seconds.
    pub bad_for_s: Option<u32>,
    /// How long it must be good before its case is closed, seconds.
    pub good_for_s: Option<u32>,
}

/// What the site says of all of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckSettings(pub BTreeMap<String, CheckSetting>);

// A threshold is never NaN: TOML's own `nan` is refused where the file is read.
impl Eq for CheckSetting {}
impl Eq for CheckSettings {}

/// What holds for one check: the site's word, else the check's default.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Run it at all.
    pub enabled: bool,
    /// Where it runs.
    pub at: Vec<Where>,
    /// The most it may ask for.
    pub action: CheckAction,
    /// `monitor` holds it back.
    pub mode: Mode,
    /// The threshold; 0 for a check without one.
    pub threshold: f64,
    /// Seconds it must be bad before it counts.
    pub bad_for_s: i64,
    /// Seconds it must be good before its case is closed.
    pub good_for_s: i64,
}

impl CheckSettings {
    /// What holds for `check`.
    pub fn of(&self, check: &Check) -> Setting {
        self.named(check.name, check)
    }

    /// What holds for the check of this name, with the defaults of `check`.
    pub fn named(&self, name: &str, check: &Check) -> Setting {
        let site = self.0.get(name);
        let say = |f: fn(&CheckSetting) -> Option<u32>| site.and_then(f).map(i64::from);
        Setting {
            enabled: site.and_then(|s| s.enabled).unwrap_or(true),
            at: site.and_then(|s| s.at.clone()).unwrap_or_else(|| check.at.to_vec()),
            action: site.and_then(|s| s.action).unwrap_or(check.action),
            mode: site.and_then(|s| s.mode).unwrap_or(Mode::Act),
            threshold: site
                .and_then(|s| s.threshold)
                .or(check.threshold.map(|threshold| threshold.value))
                .unwrap_or_default(),
            bad_for_s: say(|s| s.bad_for_s).unwrap_or(check.bad_for_s),
            good_for_s: say(|s| s.good_for_s).unwrap_or(check.good_for_s),
        }
    }

    /// The mode of the check behind a code: `monitor` only where the site says so.
    pub fn mode_of(&self, code: &str) -> Mode {
        let site = super::name_of(code).and_then(|name| self.0.get(name));
        site.and_then(|site| site.mode).unwrap_or(Mode::Act)
    }

    /// Whether `check` runs in a pass of `trigger`.
    pub fn runs(&self, check: &Check, trigger: Trigger) -> bool {
        let setting = self.of(check);
        setting.enabled && setting.at.contains(&Where::of(trigger))
    }

    /// The checks whose last results a pass of `trigger` looks at: those that run in it, and those that are switched
    /// off, of which the first pass to notice says so.
    pub fn consulted(&self, trigger: Trigger) -> Vec<&'static str> {
        let consulted = |check: &&Check| self.runs(check, trigger) || !self.of(check).enabled;
        super::ALL.iter().filter(consulted).map(|check| check.name).collect()
    }
}
