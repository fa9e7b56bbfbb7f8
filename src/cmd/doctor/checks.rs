//! The state checks: those that cannot look, a site's own that were refused or do not answer, and open cases whose check
//! looks no more. What they find bad is
//! a case and no trouble of the suite's.
use triage_core::Case;
use triage_core::checks::{CheckState, CheckWord, SITE_CODE};
use triage_ledger::{Error, Filter, Ledger, OpenOptions};

use super::finding::Findings;
use super::parts::Checkup;
use crate::render;
use crate::site::LEDGER_WAIT;
use crate::view::{self, GoneView};

/// What checks of a GPU say that NVML cannot reach, and the fault that is.
const LOST: &str = "is lost";
const OFF_BUS: &str = "gpu.off_bus";

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
            tell(&view::current_checks(states), &cases, findings);
        }
        // Whether there is a ledger is another check's question.
        Err(Error::Missing { .. }) => findings.note("no state check has looked yet"),
        Err(error) => findings.fail(format!("{:#}", crate::site::explained(error)), ""),
    }
}

fn tell(states: &[CheckState], cases: &[Case], findings: &mut Findings) {
    let of = |word: CheckWord| states.iter().filter(move |state| state.state == word);
    for (why, blind) in view::by_reason(of(CheckWord::Blind).map(|state| (state.text.as_str(), state))) {
        let names: Vec<&str> = blind.iter().map(|state| state.name.as_str()).collect();
        let since = blind.iter().map(|state| state.since).min().map(render::seconds).unwrap_or_default();
        let what = match names.as_slice() {
            [one] => format!("{one} is blind since {since}: {why}"),
            several => {
                format!("{} checks are blind since {since}: {why}: {}", names.len(), several.join(" "))
            }
        };
        findings.warn(what, remedy(why, &names, cases));
    }
    let (blind, off) = (of(CheckWord::Blind).count(), of(CheckWord::Disabled).count());
    let sighted = states.len() - blind - off;
    findings.ok(format!("{sighted} checks can look, {blind} are blind, {off} are switched off"));
}

/// A check that is blind since the part is gone is nothing to mend: the case about the part tells what to do.
fn remedy(why: &str, names: &[&str], cases: &[Case]) -> String {
    let gone = |case: &&Case| !case.synthetic && case.fault == OFF_BUS;
    match (names, cases.iter().find(gone)) {
        (_, Some(case)) if why.contains(LOST) => {
            format!("that is case {0}, and no trouble of the suite's: slurm-triage why {0}", case.id)
        }
        (_, None) if why.contains(LOST) => {
            "no trouble of the suite's: slurm-triage status tells what is known of it".to_owned()
        }
        ([one], _) if one.starts_with(SITE_CODE) => {
            "mend the script or its mode; it is run again by the next health check".to_owned()
        }
        ([one], _) => format!("mend what it could not read, or switch it off: [checks.{one}] enabled = false"),
        _ => "mend what they could not read, or switch those off that have nothing to look at here: [checks.NAME] \
              enabled = false"
            .to_owned(),
    }
}
