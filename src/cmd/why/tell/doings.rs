//! What was decided and done, by the suite and by people, and what could not be seen.
use triage_core::{Decision, Gate, Stamp};

use super::LINE;
use crate::cmd::why::story::Story;
use crate::render::{self, Page};
use crate::view::{ActionView, SourceView, TrailView};

pub(super) fn decisions(page: &mut Page, story: &Story) {
    if story.decisions.is_empty() {
        return;
    }
    page.heading("Decisions");
    for (decision, before) in collapsed(&story.decisions) {
        let outcome = match (decision.held_by(), decision.gates.is_empty()) {
            (Some(gate), _) => format!("HELD by {}", gate.name),
            (None, false) => "let through by every gate".to_owned(),
            (None, true) => "written down".to_owned(),
        };
        let what =
            render::marked(format_args!("{} {}", decision.intent, decision.subject), decision.synthetic);
        page.line(
            1,
            format_args!(
                "{}  {what}: {outcome} (rule {}, mode {})",
                render::millis(decision.at),
                decision.rule,
                decision.mode
            ),
        );
        page.line(3, render::clip(&decision.why, LINE));
        decision.gates.iter().for_each(|gate| self::gate(page, gate));
        if let Some((looks, since)) = before {
            let times = if looks == 1 { "once".to_owned() } else { format!("{looks} times") };
            page.line(
                3,
                format_args!("the same was decided {times} before, since {}", render::millis(since)),
            );
        }
    }
}

/// The last of each row of looks that ended alike, with how many came before it and since when. What a brake holds is looked
/// at again and again; the ledger has every look: `--json`.
fn collapsed(decisions: &[Decision]) -> Vec<(&Decision, Option<(usize, Stamp)>)> {
    let mut told: Vec<(&Decision, Option<(usize, Stamp)>)> = Vec::new();
    for decision in decisions.iter().rev() {
        let same_matter = |other: &Decision| {
            (&other.subject, other.intent, &other.case)
                == (&decision.subject, decision.intent, &decision.case)
        };
        let later = told.iter_mut().rfind(|(later, _)| same_matter(later));
        match later {
            Some((later, before)) if ended_alike(decision, later) => {
                let looks = before.map_or(0, |(looks, _)| looks);
                *before = Some((looks + 1, decision.at));
            }
            _ => told.push((decision, None)),
        }
    }
    told.reverse();
    told
}

fn ended_alike(a: &Decision, b: &Decision) -> bool {
    let gate = |decision: &Decision| decision.held_by().map(|gate| gate.name.clone());
    a.held_by().is_some() && gate(a) == gate(b) && (&a.rule, a.mode) == (&b.rule, b.mode)
}

fn gate(page: &mut Page, gate: &Gate) {
    let word = if gate.passed { "passed" } else { "HELD  " };
    page.line(3, format_args!("{word}  {:<15}  {}", gate.name, render::clip(&gate.why, LINE)));
}

pub(super) fn actions(page: &mut Page, story: &Story) {
    if story.actions.is_empty() {
        return;
    }
    page.heading("Actions");
    for action in story.actions.iter().map(ActionView::from) {
        let at = action.settled_at.unwrap_or(action.created);
        let what = render::marked(format_args!("{} {}", action.kind, action.subject()), action.synthetic);
        let tries = match action.attempts {
            0 => "not begun".to_owned(),
            1 => "1 try".to_owned(),
            n => format!("{n} tries"),
        };
        page.line(
            1,
            format_args!(
                "{}  {what}: {} ({tries}, wanted {})",
                render::millis(at),
                action.state,
                render::millis(action.created)
            ),
        );
        if let Some(reason) = action.reason {
            page.line(3, format_args!("reason: {reason}"));
        }
        if !action.exclude.is_empty() {
            let nodes: Vec<&str> = action.exclude.iter().map(triage_core::NodeName::as_str).collect();
            page.line(3, format_args!("kept off: {}", nodes.join(", ")));
        }
        if !action.answer.is_empty() {
            page.line(3, format_args!("answer: {}", render::clip(action.answer, LINE)));
        }
    }
}

pub(super) fn blind(page: &mut Page, story: &Story) {
    if story.blind.is_empty() {
        return;
    }
    page.heading("Not known now, for want of a source");
    for source in story.blind.iter().map(SourceView::from) {
        let since = source.blind_since.map(render::seconds).unwrap_or_default();
        page.line(1, format_args!("{} {} since {since}: {}", source.name(), source.state, source.reason));
    }
}

pub(super) fn holds(page: &mut Page, story: &Story) {
    if story.holds.is_empty() {
        return;
    }
    page.heading("On hold");
    for hold in &story.holds {
        page.line(1, hold.sentence());
    }
}

pub(super) fn audit(page: &mut Page, story: &Story) {
    if story.audit.is_empty() {
        return;
    }
    page.heading("Trail");
    for row in story.audit.iter().map(TrailView::from) {
        let what = render::marked(row.what, row.synthetic);
        let outcome = row.outcome();
        let why = row.why.strip_prefix(&format!("{outcome}: ")).unwrap_or(row.why);
        let outcome = if outcome.is_empty() { outcome } else { format!(", {outcome}") };
        page.line(
            1,
            format_args!(
                "{}  {what} ({}{outcome}): {}",
                render::millis(row.at),
                row.who(),
                render::clip(why, LINE)
            ),
        );
    }
}
