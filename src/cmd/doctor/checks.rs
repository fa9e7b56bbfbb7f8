//! The state checks: those that cannot look, a site's own that were refused or do not answer, and open cases whose check
//! looks no more. What they find bad is
//! a case and no trouble of the suite's.
use triage_core::checks::{CheckState, CheckWord, SITE_CODE};
use triage_ledger::{Error, Filter, Ledger, OpenOptions};

use super::finding::Findings;
use super::parts::Checkup;
use crate::render;
use crate::site::LEDGER_WAIT;
use crate::view::GoneView;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let site = &checkup.site;
    let opened = Ledger::open(&site.ledger, &OpenOptions::reader(LEDGER_WAIT, site.now));
    let open = Filter { open_only: true, ..Filter::default() };
    match opened.and_then(|ledger| Ok((ledger.checks()?, ledger.cases(&open)?))) {
        Ok((states, _)) if states.is_empty() => {
            findings.note("no state check has looked yet: the first health check does")
        }
        Ok((states, cases)) => {
            for gone in GoneView::all(&cases, &site.config.checks, &states) {
                findings.warn(format!("case {} stays open: {}", gone.case, gone.sentence), gone.remedy);
            }
            tell(&crate::view::current_checks(states), findings);
        }
        // Whether there is a ledger is another check's question.
        Err(Error::Missing { .. }) => findings.note("no state check has looked yet"),
        Err(error) => findings.fail(format!("{:#}", crate::site::explained(error)), ""),
    }
}

fn tell(states: &[CheckState], findings: &mut Findings) {
    let of = |word: CheckWord| states.iter().filter(move |state| state.state == word);
    for blind in of(CheckWord::Blind) {
        let since = render::seconds(blind.since);
        let remedy = if blind.name.starts_with(SITE_CODE) {
            "mend the script or its mode; it is run again by the next health check".to_owned()
        } else {
            format!("mend what it could not read, or switch it off: [checks.{}] enabled = false", blind.name)
        };
        findings.warn(format!("{} is blind since {since}: {}", blind.name, blind.text), remedy);
    }
    let (blind, off) = (of(CheckWord::Blind).count(), of(CheckWord::Disabled).count());
    let sighted = states.len() - blind - off;
    findings.ok(format!("{sighted} checks can look, {blind} are blind, {off} are switched off"));
}
