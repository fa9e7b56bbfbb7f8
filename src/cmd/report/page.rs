//! The report as text.
use super::document::Document;
use crate::render::{self, Page, Table, counted};
use triage_core::arrange::Arrange as _;

/// Most codes and faults told; JSON has all.
const SHOWN: usize = 15;
/// Most single decisions told, the latest.
const DECISIONS: usize = 40;
/// Most characters of a sentence in a table.
const TEXT: usize = 90;

pub(super) fn page(document: &Document<'_>) -> Page {
    let mut page = Page::default();
    seen(&mut page, document);
    rules(&mut page, document);
    decisions(&mut page, document);
    page
}

fn seen(page: &mut Page, document: &Document<'_>) {
    let seen = &document.seen;
    page.line(
        0,
        format_args!(
            "{} to {}: {} of {} ledgers read, {} ended, {} of them failed",
            render::seconds(document.since),
            render::seconds(document.at),
            seen.nodes,
            document.ledgers.len(),
            counted(seen.runs, "run"),
            seen.failed
        ),
    );
    page.heading("Seen");
    page.line(1, format_args!("events    {}", most(seen.events.iter().map(|(k, v)| (*k, *v)))));
    page.line(1, format_args!("cases     {}", most(seen.cases.iter().map(|(k, v)| (*k, *v as u64)))));
    page.line(1, format_args!("verdicts  {}", most(seen.verdicts.iter().map(|(k, v)| (*k, *v as u64)))));
}

/// The most frequent first.
fn most<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let mut all: Vec<(&str, u64)> = counts.collect();
    all.arrange_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let rest = all.len().saturating_sub(SHOWN);
    let told: Vec<String> = all.iter().take(SHOWN).map(|(name, count)| format!("{count} {name}")).collect();
    match (told.is_empty(), rest) {
        (true, _) => "none".to_owned(),
        (false, 0) => told.join(", "),
        (false, _) => format!("{}, and {rest} other kinds", told.join(", ")),
    }
}

fn rules(page: &mut Page, document: &Document<'_>) {
    page.heading("Rules");
    if document.rules.is_empty() {
        page.line(1, "no rule wanted anything done");
        return;
    }
    let head = [
        "RULE",
        "WANTED",
        "MODE",
        "TIMES",
        "DONE",
        "RIGHT",
        "WRONG",
        "OPEN",
        "WITHHELD",
        "PRECISION (95 %)",
        "SAVED",
        "WASTED",
    ];
    let mut table = Table::new(&head);
    for rule in &document.rules {
        table.row(vec![
            rule.rule.clone(),
            rule.intent.to_owned(),
            rule.mode.to_string(),
            rule.wanted.to_string(),
            rule.done.to_string(),
            rule.right.to_string(),
            rule.wrong.to_string(),
            rule.open.to_string(),
            rule.withheld.to_string(),
            rule.told_precision(),
            rule.saved.told(),
            rule.wasted.told(),
        ]);
    }
    page.table(1, &table);
    for rule in &document.rules {
        page.line(
            1,
            format_args!("{} {}: {}: {}", rule.rule, rule.intent, rule.told_ready(), rule.ready_because),
        );
    }
}

fn decisions(page: &mut Page, document: &Document<'_>) {
    if document.decisions.is_empty() {
        return;
    }
    let hidden = document.decisions.len().saturating_sub(DECISIONS);
    page.heading(if hidden == 0 { "Decisions" } else { "Decisions (the latest; --json has all)" });
    let mut table = Table::new(&["WHEN", "NODE", "WANTED", "FOR", "RULE", "DONE", "GRADE", "BECAUSE"]);
    for one in document.decisions.iter().skip(hidden) {
        table.row(vec![
            render::seconds(one.at),
            one.node.to_string(),
            one.intent.to_owned(),
            one.subject.clone(),
            one.rule.to_owned(),
            one.done_at.map_or_else(|| "no".to_owned(), render::seconds),
            one.grade.word().to_owned(),
            render::clip(one.because, TEXT).into_owned(),
        ]);
    }
    page.table(1, &table);
}
