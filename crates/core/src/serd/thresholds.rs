//! From how many repeats on something is a fault: the built-in figures and what the site says instead.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::engine::KEPT;
use super::{RULES, Rule};

/// N in T, and among how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// Occurrences.
    pub count: u64,
    /// Seconds within which they lie.
    pub window_s: i64,
    /// Different jobs among them, at least.
    pub jobs: u32,
    /// Different users among them, at least.
    pub users: u32,
}

/// `[rates.<name>]` in `triage.toml`: what is not said stays as built in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Override {
    /// `false`: not counted at all.
    pub enabled: Option<bool>,
    /// Occurrences.
    pub count: Option<u64>,
    /// Hours within which they lie.
    pub hours: Option<u32>,
    /// Different jobs among them.
    pub jobs: Option<u32>,
    /// Different users among them.
    pub users: Option<u32>,
}

/// The site's figures over the built-in ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Thresholds(pub BTreeMap<String, Override>);

impl Thresholds {
    /// The first figure that can never be reached, or always is: the rate, the key, and what to write instead.
    pub fn fault(&self) -> Option<(&str, &'static str, String)> {
        self.0.iter().find_map(|(name, change)| {
            let sums = RULES.iter().any(|rule| rule.name == name && rule.sums());
            let most = if sums { u64::MAX } else { KEPT as u64 };
            match (change.count, change.hours) {
                (Some(0), _) => Some((name.as_str(), "count", "must be at least 1".to_owned())),
                (Some(count), _) if count > most => {
                    let what = format!("must be at most {most}: so many occurrences are remembered");
                    Some((name.as_str(), "count", what))
                }
                (_, Some(0)) => Some((name.as_str(), "hours", "must be at least 1".to_owned())),
                _ => None,
            }
        })
    }

    /// Names that are of no rate: misspelt, or of another version.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|name| RULES.iter().all(|rule| rule.name != *name))
    }

    /// The figure that holds for a rule; `None`: it is switched off.
    pub fn of(&self, rule: &Rule) -> Option<Threshold> {
        let built_in = rule.threshold;
        let Some(change) = self.0.get(rule.name) else { return Some(built_in) };
        (change.enabled != Some(false)).then(|| Threshold {
            count: change.count.unwrap_or(built_in.count),
            window_s: change.hours.map_or(built_in.window_s, |hours| i64::from(hours) * 3_600),
            jobs: change.jobs.unwrap_or(built_in.jobs),
            users: change.users.unwrap_or(built_in.users),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, change: Override) -> Thresholds {
        Thresholds(BTreeMap::from([(name.to_owned(), change)]))
    }

    #[test]
    fn what_the_site_leaves_out_stays_as_built_in() {
        let rule = &RULES[0];
        let changed = with(rule.name, Override { count: Some(7), ..Override::default() });
        assert_eq!(changed.of(rule), Some(Threshold { count: 7, ..rule.threshold }));
        assert_eq!(Thresholds::default().of(rule), Some(rule.threshold));
    }

    #[test]
    fn a_rate_that_is_switched_off_has_no_figure() {
        let rule = &RULES[0];
        let off = with(rule.name, Override { enabled: Some(false), ..Override::default() });
        assert_eq!(off.of(rule), None);
    }

    #[test]
    fn a_figure_that_is_never_or_always_reached_is_refused_with_the_rates_name() {
        let zero = with("link_flaps", Override { count: Some(0), ..Override::default() });
        assert_eq!(zero.fault().map(|fault| (fault.0, fault.1)), Some(("link_flaps", "count")));
        let never = with("link_flaps", Override { hours: Some(0), ..Override::default() });
        assert_eq!(never.fault().map(|fault| fault.1), Some("hours"));
        let much = with("link_flaps", Override { count: Some(257), ..Override::default() });
        assert!(much.fault().is_some(), "an engine remembers {KEPT} occurrences");
        assert_eq!(with("link_flaps", Override { count: Some(2), ..Override::default() }).fault(), None);
        let misspelt = with("link_flap", Override::default());
        assert_eq!(misspelt.unknown().collect::<Vec<_>>(), ["link_flap"]);
    }

    #[test]
    fn every_built_in_figure_can_be_reached() {
        for rule in RULES {
            let t = rule.threshold;
            assert!(t.count >= 1 && t.window_s > 0, "{}", rule.name);
            assert!(rule.sums() || t.count <= KEPT as u64, "{}", rule.name);
            assert!(!rule.source.is_empty(), "{} has no source", rule.name);
        }
    }
}
