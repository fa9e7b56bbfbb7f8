//! A state check: what it may do, and what it found last.
use std::collections::BTreeMap;

use serde::Serialize;
use triage_core::Stamp;
use triage_core::checks::{ALL, Check, CheckSettings, CheckState, CheckWord, SITE, SITE_CODE, Where};

/// Seconds without a look, while other checks looked, after which a check of the site's own is taken for removed: several
/// health checks at any interval in use.
const GONE_S: i64 = 900;

/// A state check with its last result. One that never looked has no state.
#[derive(Debug, Serialize)]
pub(crate) struct CheckView<'a> {
    /// Its name: `mounts`, `site.nhc`.
    pub(crate) name: &'a str,
    /// Where it runs.
    #[serde(rename = "where")]
    pub(crate) at: Vec<&'static str>,
    /// The most it may ask for.
    pub(crate) action: &'static str,
    /// `monitor`: the site holds it back.
    pub(crate) mode: &'static str,
    /// What it compares with, where it has a figure.
    pub(crate) threshold: Option<f64>,
    /// The figure's unit.
    pub(crate) unit: Option<&'static str>,
    /// `ok`, `bad`, `blind`, `disabled`; `null`: it never looked.
    pub(crate) state: Option<&'static str>,
    /// Since when it stands so.
    pub(crate) since: Option<Stamp>,
    /// When it last looked.
    pub(crate) last: Option<Stamp>,
    /// The figure it saw.
    pub(crate) value: Option<&'a str>,
    /// What it found, or why it is blind.
    pub(crate) text: &'a str,
    /// What reading its areas cost, microseconds.
    pub(crate) cost_us: Option<u64>,
}

impl<'a> CheckView<'a> {
    fn new(name: &'a str, check: &Check, settings: &CheckSettings, last: Option<&'a CheckState>) -> Self {
        let setting = settings.named(name, check);
        Self {
            name,
            at: setting.at.iter().map(|place| place.word()).collect(),
            action: setting.action.word(),
            mode: setting.mode.word(),
            threshold: check.threshold.map(|_| setting.threshold),
            unit: check.threshold.map(|threshold| threshold.unit),
            state: if setting.enabled {
                last.map(|last| last.state.word())
            } else {
                Some(CheckWord::Disabled.word())
            },
            since: last.map(|last| last.since),
            last: last.map(|last| last.at),
            value: last.and_then(|last| last.value.as_deref()),
            text: last.map_or("", |last| &last.text),
            cost_us: last.map(|last| last.cost_us),
        }
    }

    /// Every check of ours, then the site's own that have run.
    pub(crate) fn all(settings: &CheckSettings, states: &'a [CheckState]) -> Vec<Self> {
        let last = |name: &str| states.iter().find(|state| state.name == name);
        let ours = ALL.iter().map(|check| Self::new(check.name, check, settings, last(check.name)));
        let site = states.iter().filter(|state| state.name.starts_with(SITE_CODE));
        ours.chain(site.map(|state| Self::new(&state.name, &SITE, settings, Some(state)))).collect()
    }

    /// Whether it cannot look.
    pub(crate) fn is_blind(&self) -> bool {
        self.state == Some(CheckWord::Blind.word())
    }

    /// Whether somebody should look at it.
    pub(crate) fn wants_attention(&self) -> bool {
        [Some(CheckWord::Bad.word()), Some(CheckWord::Blind.word())].contains(&self.state)
    }
}

/// What has the same reason: one lost GPU blinds twenty checks, and they are told together.
pub(crate) fn by_reason<'a, T>(blind: impl Iterator<Item = (&'a str, T)>) -> BTreeMap<&'a str, Vec<T>> {
    let mut reasons: BTreeMap<&str, Vec<T>> = BTreeMap::new();
    for (why, what) in blind {
        reasons.entry(why).or_default().push(what);
    }
    reasons
}

/// The ledger's states without those of a site's checks that the health check goes on without: their files are gone.
pub(crate) fn current(mut states: Vec<CheckState>) -> Vec<CheckState> {
    let of_health_check = |state: &&CheckState| {
        ALL.iter().any(|check| check.name == state.name && check.at == [Where::HealthCheck])
    };
    let newest = states.iter().filter(of_health_check).map(|state| state.at).max();
    states.retain(|state| {
        !state.name.starts_with(SITE_CODE)
            || newest.is_none_or(|newest| state.at >= newest.plus_secs(-GONE_S))
    });
    states
}
