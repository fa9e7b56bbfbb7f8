//! `slurm-triage ack` and `acquit`: a person closes a case.
use serde::Serialize;
use triage_core::{Action, Case, CaseId, CaseState, DecisionId, Intent, Mode, NodeName, Stamp, still};
use triage_hooks::policy_file;
use triage_ledger::{Closed, Closing, Filter, Found, Ledger, NewIntent};

use super::{begin, no, word};
use crate::advice;
use crate::args::{CaseWordArgs, Common};
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::Site;
use crate::view;

/// How long the word that nothing is claimed any more may wait for the controller, seconds.
const UNPUBLISH_S: i64 = 600;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    by: &'a str,
    /// False: it was closed so already.
    changed: bool,
    case: &'a Case,
    /// Where it stood before.
    before: CaseState,
    /// Actions that nobody had begun, and that were given up.
    given_up: &'a [String],
    /// Which check still read it as bad at its last look; null: none did.
    still_bad: Option<&'a str>,
    /// What is left to a person; empty: nothing.
    next: &'a str,
}

pub(crate) fn ack(common: &Common, args: &CaseWordArgs) -> CmdResult {
    close(common, args, Closing::Acknowledged)
}

pub(crate) fn acquit(common: &Common, args: &CaseWordArgs) -> CmdResult {
    close(common, args, Closing::Acquitted)
}

fn close(common: &Common, args: &CaseWordArgs, closing: Closing) -> CmdResult {
    let (site, mut ledger, person) = begin(common)?;
    let id = match ledger.case(args.case.strip_prefix("case:").unwrap_or(&args.case))? {
        Found::One(case) => case.id,
        Found::None => return no(exit::FINDINGS, &unknown(&site, &ledger, &args.case)?),
        Found::Several(ids) => {
            let text = format!("several cases begin with {}: {}", args.case, ids.join(", "));
            return no(exit::FINDINGS, &text);
        }
    };
    let word = word(&person, &args.reason);
    let intents = unpublish(&site, &ledger, &id, word.now)?;
    let closed = ledger.close_case(&id, closing, &word, &intents)?;
    let still_bad = match &closed {
        Closed::Now { case, .. } | Closed::Already(case) => still_bad(&ledger, case)?,
        _ => None,
    };
    drop(ledger);
    let (case, before, given_up, changed) = match closed {
        Closed::Now { case, before, given_up } => (case, before, given_up, true),
        Closed::Already(case) => (case.clone(), case.state, Vec::new(), false),
        Closed::Otherwise(case) => {
            let text =
                format!("case {} is {} already: {}; nothing was changed", case.id, case.state, case.why);
            return no(exit::REFUSED, &text);
        }
        // It was there a moment ago: retention has removed it meanwhile.
        Closed::Unknown => return no(exit::FINDINGS, &format!("there is no case {id} any more")),
    };
    let next = next(&case, before);
    if common.json {
        let (v, node, by) = (view::VERSION, &site.node, &person.name);
        let given_up = &given_up;
        render::json(&Document {
            v,
            node,
            at: word.now,
            by,
            changed,
            case: &case,
            before,
            given_up,
            still_bad: still_bad.as_deref(),
            next: &next,
        })?;
    } else {
        let mut page = page(&site, &case, &given_up, changed);
        if let Some(still_bad) = &still_bad {
            page.line(1, warning(&case, still_bad));
        }
        if !next.is_empty() {
            page.line(1, next);
        }
        render::print(page.text())?;
    }
    Ok(exit::OK)
}

fn unknown(site: &Site, ledger: &Ledger, asked: &str) -> anyhow::Result<String> {
    let open = ledger.cases(&Filter { open_only: true, ..Filter::default() })?;
    let open: Vec<&str> = open.iter().map(|case| case.id.as_str()).collect();
    let open = if open.is_empty() { "none is open".to_owned() } else { format!("open: {}", open.join(", ")) };
    Ok(format!("there is no case {asked} in the ledger of {}; {open}", site.node))
}

/// With the last case closed nothing is claimed against the node any more, and other nodes are not to read that
/// something was. Only a site that acts publishes.
fn unpublish(site: &Site, ledger: &Ledger, id: &CaseId, now: Stamp) -> anyhow::Result<Vec<NewIntent>> {
    let policy = policy_file::load(&site.config.paths.policy).unwrap_or_default();
    let others = ledger.cases(&Filter { open_only: true, ..Filter::default() })?;
    let last = others.iter().all(|case| case.id == *id) && !others.is_empty();
    if !last || policy.mode.of(Intent::Drain) != Mode::Act {
        return Ok(Vec::new());
    }
    let decision = DecisionId::of(&site.node.to_string(), "unpublish", id.as_str(), now);
    let action = Action::Publish { node: site.node.clone(), body: String::new(), decision };
    Ok(vec![NewIntent { action, expires: now.plus_secs(UNPUBLISH_S), synthetic: false }])
}

/// A drain of ours is not lifted by a word.
fn next(case: &Case, before: CaseState) -> String {
    if before != CaseState::Acted {
        return String::new();
    }
    format!(
        "{} was drained for it and stays so, until the health check lifts our drain where policy lets it, or you do: {}",
        case.node,
        advice::undrain(&case.node)
    )
}

/// What the last look said of it: a person may know better, or has not seen it.
fn still_bad(ledger: &Ledger, case: &Case) -> anyhow::Result<Option<String>> {
    let (states, facts, reading) = (ledger.checks()?, ledger.last_facts()?, ledger.last_reading()?);
    let reading = reading.as_ref().map(|last| &last.reading);
    Ok(still::read_as_bad(case, &states, facts.as_ref(), reading))
}

fn warning(case: &Case, still_bad: &str) -> String {
    let then = match case.state {
        CaseState::Acquitted => {
            "status goes on showing it, our drain is not lifted while it is so, and no case is opened for it before it was found \
             good in between"
        }
        _ => "a case is opened again at the next health check that finds it so",
    };
    format!("at the last look {still_bad}; {then}")
}

fn page(site: &Site, case: &Case, given_up: &[String], changed: bool) -> Page {
    let mut page = Page::default();
    let already = if changed { "" } else { " already" };
    page.line(
        0,
        format_args!(
            "{}: case {} ({} on {}) is {}{already}: {}",
            site.node,
            case.id,
            render::marked(&case.code, case.synthetic),
            case.resource,
            case.state,
            case.why
        ),
    );
    for key in given_up {
        page.line(1, format_args!("given up: {key}"));
    }
    page
}
