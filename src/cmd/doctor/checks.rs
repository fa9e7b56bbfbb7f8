//! The state checks: those that cannot look, and a site's own that were refused or do not answer. What they find bad is
//! a case and no trouble of the suite's.
use triage_core::checks::{CheckState, CheckWord, SITE_CODE};
use triage_ledger::{Error, Ledger, OpenOptions};

use super::finding::Findings;
use super::parts::Checkup;
use crate::render;
use crate::site::LEDGER_WAIT;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let site = &checkup.site;
    let opened = Ledger::open(&site.ledger, &OpenOptions::reader(LEDGER_WAIT, site.now));
    match opened.and_then(|ledger| ledger.checks()) {
        Ok(states) if states.is_empty() => {
            findings.note("no state check has looked yet: the first health check does")
        }
        Ok(states) => tell(&crate::view::current_checks(states), findings),
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
