//! An open case whose check looks no more.
use serde::Serialize;
use triage_core::checks::{CheckSettings, CheckState, gone};
use triage_core::{Case, CaseId, Stamp};

/// An open case whose check looks no more: nothing but a person's word, or the check itself, can close it.
#[derive(Debug, Serialize)]
pub(crate) struct GoneView<'a> {
    /// The case.
    pub(crate) case: &'a CaseId,
    /// The check.
    pub(crate) check: String,
    /// Since when it looks no more; `null`: no health check has noticed yet.
    pub(crate) since: Option<Stamp>,
    /// Why it looks no more.
    pub(crate) why: String,
    /// What to do.
    pub(crate) remedy: String,
    /// All of it in one sentence.
    #[serde(skip)]
    pub(crate) sentence: String,
}

impl<'a> GoneView<'a> {
    /// Those among `cases`.
    pub(crate) fn all(cases: &'a [Case], settings: &CheckSettings, states: &[CheckState]) -> Vec<Self> {
        cases.iter().filter_map(|case| Self::of(case, settings, states)).collect()
    }

    /// Of this case, where it is one.
    pub(crate) fn of(case: &'a Case, settings: &CheckSettings, states: &[CheckState]) -> Option<Self> {
        let found = gone::behind(case, settings, states)?;
        Some(Self {
            case: &case.id,
            sentence: found.sentence(),
            check: found.check,
            since: found.since,
            why: found.why,
            remedy: gone::remedy(case),
        })
    }

    /// What a list of cases says of it.
    pub(crate) fn line(&self) -> String {
        format!("case {}: {}; {}", self.case, self.sentence, self.remedy)
    }
}
