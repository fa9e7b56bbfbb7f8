//! Checks that look no more. A case that only such a check has told of can be neither borne out nor taken back by it: it
//! stays open and is shown with what to do, since nothing clears by silence; but it asks for nothing, since nothing can prove
//! it.
use std::collections::BTreeMap;

use super::{CheckSettings, CheckState, CheckWord, Checking, SITE_CODE};
use crate::{Case, ClearedBy, Stamp};

/// Why a check that `triage.toml` switches off does not look.
pub(super) const SWITCHED_OFF: &str = "switched off in triage.toml";

/// A check that looks no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Its name: `mounts`, `site.nhc`.
    pub check: String,
    /// Why: it was switched off, its file was taken away, this version has no such check.
    pub why: String,
    /// Since when, where some pass has noticed.
    pub since: Option<Stamp>,
}

impl Gone {
    /// In one sentence.
    pub fn sentence(&self) -> String {
        let since = self.since.map(|since| format!(" since {since}")).unwrap_or_default();
        format!("its check {} looks no more{since}: {}", self.check, self.why)
    }
}

/// The check behind the case, where it looks no more and nothing else has told of the fault.
pub fn behind(case: &Case, settings: &CheckSettings, last: &[CheckState]) -> Option<Gone> {
    if !case.is_open() || case.clears != ClearedBy::CheckPasses {
        return None;
    }
    let name = super::name_of(case.code.as_str())?;
    let state = last.iter().find(|state| state.name == name);
    let off = state.filter(|state| state.state == CheckWord::Disabled);
    let check = super::find(name);
    let setting = settings.named(name, check.unwrap_or(&super::SITE));
    let why = if check.is_none() && !name.starts_with(SITE_CODE) {
        "this version has no such check"
    } else if !setting.enabled {
        SWITCHED_OFF
    } else if setting.at.is_empty() {
        "triage.toml lets it run nowhere"
    } else {
        // One of ours that was switched on again looks in the next health check.
        off.filter(|_| check.is_none())?.text.as_str()
    };
    Some(Gone { check: name.to_owned(), why: why.to_owned(), since: off.map(|state| state.since) })
}

/// What a person can do about a case without a check.
pub fn remedy(case: &Case) -> String {
    format!(
        "if it is mended or of no interest, close it: slurm-triage ack {} --reason 'what was done'; else bring the check back",
        case.id
    )
}

/// The state of a check that looks no more. What it had found is for a person to judge.
pub(super) fn out_of_use(checking: &Checking<'_>, name: &str, why: &str) -> CheckState {
    CheckState {
        name: name.to_owned(),
        state: CheckWord::Disabled,
        since: checking.facts.at,
        at: checking.facts.at,
        boot: checking.facts.boot.clone(),
        text: why.to_owned(),
        value: None,
        cost_us: 0,
        items: BTreeMap::new(),
    }
}
