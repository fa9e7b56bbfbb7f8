//! The status as text.
use std::time::Duration;

use triage_core::Stamp;

use super::Document;
use crate::cmd::cases;
use crate::render::{self, Page, Table};
use crate::view::{
    self, ActionView, CheckView, HealthCheckView, HeldView, LedgerView, OutView, PolicyView, SourceView,
    TroubleView,
};

/// The page.
pub(super) fn page(document: &Document<'_>) -> Page {
    let mut page = Page::default();
    page.line(0, headline(document));
    document.policy.error.iter().for_each(|error| page.line(0, format_args!("policy: {error}")));
    document.unwritable.iter().for_each(|why| page.line(0, format_args!("nothing is written down: {why}")));
    if !document.cases.is_empty() {
        page.heading("Open cases");
        page.table(0, &cases::table(document.cases, document.at));
        document.gone_checks.iter().for_each(|gone| page.line(0, gone.line()));
        page.line(0, "slurm-triage why CASE tells the rest");
    }
    if !document.held.is_empty() {
        page.heading("Drains that are held");
        page.table(0, &held_table(document.held, document.at));
    }
    if !document.out.is_empty() {
        page.heading("Still drained by us, though the case is closed");
        page.table(0, &out_table(document.out, document.at));
        page.line(0, format_args!("slurm-triage why {} tells what to do", document.node));
    }
    if !document.holds.is_empty() {
        page.heading("On hold");
        page.table(0, &cases::hold_table(&document.holds));
    }
    page.heading("Sources");
    match document.sources {
        [] => page.line(0, "none was looked at yet: the first prolog or health check does"),
        sources => page.table(0, &source_table(sources, document.at)),
    }
    page.line(0, health_check(document));
    if !document.checks.is_empty() {
        page.heading("Checks that want attention");
        let (blind, bad): (Vec<&CheckView<'_>>, _) =
            document.checks.iter().partition(|check| check.is_blind());
        if !bad.is_empty() {
            page.table(0, &crate::cmd::checks::table(bad, document.at));
        }
        for (why, names) in view::by_reason(blind.iter().map(|check| (check.text, check.name))) {
            page.line(0, format_args!("BLIND: {}: {why}", names.join(" ")));
        }
        page.line(0, "slurm-triage checks lists all of them");
    }
    if !document.pending.is_empty() {
        page.heading("Pending");
        page.table(0, &pending_table(&document.pending, document.at));
    }
    page.heading("Policy");
    policy(&mut page, &document.policy);
    page.heading("Ledger");
    ledger(&mut page, document.ledger, document.at);
    if !document.trouble.is_empty() {
        page.heading("The suite's own trouble, last 24 hours");
        page.table(0, &trouble_table(&document.trouble, document.at));
    }
    page
}

fn headline(document: &Document<'_>) -> String {
    let node = document.node;
    let mut troubles = Vec::new();
    if document.policy.error.is_some() {
        troubles.push("the policy cannot be used, nothing is carried out".to_owned());
    }
    if document.unwritable.is_some() {
        troubles.push("nothing can be written down".to_owned());
    }
    match document.cases.len() {
        0 => {}
        1 => troubles.push("1 open case".to_owned()),
        n => troubles.push(format!("{n} open cases")),
    }
    if !document.drained.is_empty() {
        troubles.push("drained by us".to_owned());
    }
    match document.held {
        [] => {}
        [one] => troubles.push(format!("its drain is held by {}", one.held_by)),
        several => troubles.push(format!("{} drains are held", several.len())),
    }
    if !document.out.is_empty() {
        troubles.push("still drained for a closed case".to_owned());
    }
    match document.sources.iter().filter(|source| source.is_blind()).count() {
        0 => {}
        1 => troubles.push("1 blind source".to_owned()),
        n => troubles.push(format!("{n} blind sources")),
    }
    let blind = document.checks.iter().filter(|check| check.is_blind()).count();
    // Also where no case says so: a person may have closed it.
    match document.checks.len() - blind {
        0 => {}
        1 => troubles.push("1 check finds something bad".to_owned()),
        n => troubles.push(format!("{n} checks find something bad")),
    }
    match blind {
        0 => {}
        1 => troubles.push("1 blind check".to_owned()),
        n => troubles.push(format!("{n} blind checks")),
    }
    if document.health_check.overdue {
        troubles.push("nobody looks".to_owned());
    }
    let jobs = match document.jobs.len() {
        0 => "no job is on it".to_owned(),
        1 => "1 job is on it".to_owned(),
        n => format!("{n} jobs are on it"),
    };
    if troubles.is_empty() {
        format!("{node}: nothing is known against it; {jobs}")
    } else {
        format!("{node}: {}; {jobs}", troubles.join(", "))
    }
}

fn out_table(out: &[OutView<'_>], now: Stamp) -> Table {
    let mut table = Table::new(&["CASE", "STATE", "DRAINED", "HELD BY", "BECAUSE", "CLOSED BECAUSE"]);
    for one in out {
        table.row(vec![
            one.case.to_string(),
            one.state.to_string(),
            render::ago(now, one.drained_at),
            one.held_by.unwrap_or_default().to_owned(),
            one.held_because
                .unwrap_or("a health check has not decided yet, or [repair] resume is off")
                .to_owned(),
            one.why.to_owned(),
        ]);
    }
    table
}

fn held_table(held: &[HeldView<'_>], now: Stamp) -> Table {
    let mut table = Table::new(&["CASE", "HELD BY", "SINCE", "BECAUSE", "LOOKED AT AGAIN"]);
    for one in held {
        table.row(vec![
            one.case.to_string(),
            one.held_by.to_owned(),
            render::ago(now, one.since),
            one.because.to_owned(),
            one.next(),
        ]);
    }
    table
}

fn source_table(sources: &[SourceView<'_>], now: Stamp) -> Table {
    let mut table = Table::new(&["SOURCE", "STATE", "LAST READ", "COST", "WHY NOT"]);
    for source in sources {
        let why = source.blind_since.map_or_else(String::new, |since| {
            let pid = source.hung_pid.map(|pid| format!(" (process {pid} hung in it)")).unwrap_or_default();
            format!("since {}: {}{pid}", render::seconds(since), source.reason)
        });
        table.row(vec![
            source.name(),
            if source.is_blind() { source.state.to_uppercase() } else { source.state.to_owned() },
            source.last_ok.map_or_else(|| "never".to_owned(), |at| render::ago(now, at)),
            render::duration(Duration::from_micros(source.cost_us)),
            why,
        ]);
    }
    table
}

fn health_check(document: &Document<'_>) -> String {
    match document.health_check {
        HealthCheckView { last: Some(last), overdue: false } => {
            format!("last health check {}", render::ago(document.at, last))
        }
        HealthCheckView { last: Some(last), overdue: true } => format!(
            "no health check since {} ({}): see slurm-triage doctor",
            render::seconds(last),
            render::ago(document.at, last)
        ),
        HealthCheckView { last: None, .. } => "no health check ever: see slurm-triage doctor".to_owned(),
    }
}

fn pending_table(pending: &[ActionView<'_>], now: Stamp) -> Table {
    let mut table = Table::new(&["ACTION", "FOR", "STATE", "WANTED", "TRIES", "EXPIRES", "LAST ANSWER"]);
    for action in pending {
        table.row(vec![
            render::marked(action.kind, action.synthetic),
            action.subject(),
            action.state.to_owned(),
            render::ago(now, action.created),
            action.attempts.to_string(),
            render::seconds(action.expires),
            action.answer.to_owned(),
        ]);
    }
    table
}

fn policy(page: &mut Page, policy: &PolicyView) {
    let modes = policy.mode.each().map(|(action, mode)| format!("{action} {mode}")).join(", ");
    let from = match (&policy.error, policy.present) {
        (Some(_), _) => "until the policy is mended".to_owned(),
        (None, true) => policy.path.display().to_string(),
        (None, false) => format!("built-in: there is no {}", policy.path.display()),
    };
    page.line(0, format_args!("{modes} ({from})"));
}

fn ledger(page: &mut Page, ledger: &LedgerView, now: Stamp) {
    let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000);
    page.line(
        0,
        format_args!(
            "{}: {} of {}, schema {}, {} on a {} filesystem",
            ledger.path.display(),
            megabytes(ledger.bytes.saturating_sub(ledger.free_bytes)),
            megabytes(ledger.max_bytes),
            ledger.schema,
            ledger.journal,
            ledger.filesystem
        ),
    );
    let oldest = ledger.oldest_event.map_or_else(
        || "it holds no event".to_owned(),
        |at| format!("its oldest event is of {}", render::seconds(at)),
    );
    let checked = ledger.last_check.map_or_else(
        || "not checked as a whole yet".to_owned(),
        |at| format!("found sound {}", render::ago(now, at)),
    );
    page.line(0, format_args!("{oldest}; {checked}"));
    if let Some(replaced) = &ledger.replaced {
        let at = render::seconds(replaced.at);
        page.line(
            0,
            format_args!("replaced a damaged one at {at}: {} ({})", replaced.file.display(), replaced.why),
        );
    }
}

fn trouble_table(trouble: &[TroubleView<'_>], now: Stamp) -> Table {
    let mut table = Table::new(&["WHEN", "LEVEL", "PROGRAM", "KIND", "TEXT"]);
    for row in trouble {
        table.row(vec![
            render::ago(now, row.at),
            row.level.to_owned(),
            row.program.to_owned(),
            render::marked(row.kind, row.synthetic),
            row.text.to_owned(),
        ]);
    }
    table
}
