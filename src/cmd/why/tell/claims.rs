//! What is claimed, and what it rests on: verdicts, cases, events.
use triage_core::{Case, Event, Verdict};

use super::{LINE, counted};
use crate::cmd::cases::state;
use crate::cmd::why::story::Story;
use crate::render::{self, Page};

pub(super) fn verdicts(page: &mut Page, story: &Story) {
    for verdict in &story.verdicts {
        let run = &verdict.run;
        page.heading(render::marked(
            format_args!("Verdict on job {run}: {} {} cause", verdict.confidence, verdict.class),
            verdict.synthetic,
        ));
        page.line(1, blame(verdict));
        for line in &verdict.story {
            page.line(1, render::clip(line, LINE));
        }
    }
    for case in &story.cases_elsewhere {
        page.line(
            1,
            format_args!("case {case} is another node's: slurm-triage why {case} there tells of it"),
        );
    }
}

fn blame(verdict: &Verdict) -> String {
    let culprits: Vec<String> = verdict
        .culprits
        .iter()
        .map(|culprit| match &culprit.resource {
            Some(resource) => format!("{resource} of {}", culprit.node),
            None => culprit.node.to_string(),
        })
        .collect();
    let victims: Vec<&str> = verdict.victims.iter().map(triage_core::NodeName::as_str).collect();
    let blame = if culprits.is_empty() {
        "nobody can be named".to_owned()
    } else {
        format!("to blame: {}", culprits.join(", "))
    };
    if victims.is_empty() { blame } else { format!("{blame}; only suffered: {}", victims.join(", ")) }
}

pub(super) fn cases(page: &mut Page, story: &Story) {
    for case in &story.cases {
        let code = render::marked(&case.code, case.synthetic);
        page.heading(format_args!("Case {}: {code} on {} of {}", case.id, case.resource, case.node));
        page.line(1, standing(case));
        page.line(1, render::clip(&case.why, LINE));
        let run = case.run.as_ref().map(|run| format!(", under job {run}")).unwrap_or_default();
        page.line(
            1,
            format_args!(
                "opened {}, last seen {}{run}; {} of evidence",
                render::millis(case.opened_at),
                render::millis(case.last_seen),
                counted(case.events.len(), "event")
            ),
        );
    }
}

fn standing(case: &Case) -> String {
    let closed = case.closed_at.map(|at| format!(" {}", render::millis(at))).unwrap_or_default();
    format!(
        "{}{closed}; {} {} fault ({}), {} evidence; it suggests: {}; cleared by: {}",
        state(case),
        case.confidence,
        case.class,
        case.fault,
        case.provenance,
        case.advice,
        case.clears
    )
}

pub(super) fn events(page: &mut Page, story: &Story) {
    if !story.evidence.is_empty() || story.evidence_gone > 0 {
        page.heading("Evidence");
    }
    story.evidence.iter().for_each(|event| self::event(page, event));
    if story.evidence_gone > 0 {
        page.line(1, format_args!("and {} no longer in the ledger", counted(story.evidence_gone, "event")));
    }
    if !story.other_events.is_empty() {
        page.heading(if story.more_events {
            "Also seen meanwhile (the latest)"
        } else {
            "Also seen meanwhile"
        });
        story.other_events.iter().for_each(|event| self::event(page, event));
    }
}

fn event(page: &mut Page, event: &Event) {
    page.line(
        1,
        format_args!(
            "{}  {} on {} ({} {}, {} {})",
            render::millis(event.at),
            render::marked(&event.code, event.synthetic),
            event.resource,
            event.confidence,
            event.class,
            event.provenance,
            event.source
        ),
    );
    page.line(3, render::clip(&event.text, LINE));
    if let Some(note) = event.fields.get("note") {
        page.paragraph(3, "", note);
    }
}
