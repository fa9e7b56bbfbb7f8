//! What is claimed, and what it rests on: verdicts, cases, events.
use triage_core::{Case, Event, Evidence, Grounds, Provenance, Verdict};

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
        grounds(page, &verdict.grounds);
    }
    for case in &story.cases_elsewhere {
        page.line(
            1,
            format_args!("case {case} is another node's: slurm-triage why {case} there tells of it"),
        );
    }
}

/// What it rests on that is no event of the ledger, what does not count, and what was not seen.
fn grounds(page: &mut Page, grounds: &Grounds) {
    let said: Vec<&Evidence> =
        grounds.told.iter().filter(|told| told.provenance == Provenance::User).collect();
    if !said.is_empty() {
        page.line(1, "the job itself said (its word alone is held against no node):");
    }
    for told in said {
        testimony(page, told, "");
    }
    if !grounds.discounted.is_empty() {
        page.line(1, "seen, and not counted:");
    }
    for discounted in &grounds.discounted {
        let times =
            if discounted.count > 1 { format!(" ({} times)", discounted.count) } else { String::new() };
        testimony(page, &discounted.evidence, &times);
        page.line(3, format_args!("because: {}", render::clip(&discounted.why, LINE)));
    }
    if !grounds.blind.is_empty() {
        page.line(1, "not seen:");
    }
    for blind in &grounds.blind {
        page.line(2, render::clip(blind, LINE));
    }
}

fn testimony(page: &mut Page, told: &Evidence, times: &str) {
    let at = told.time.map(|at| format!("{}  ", render::millis(at))).unwrap_or_default();
    let node = told.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
    page.line(2, format_args!("{at}{}{node}{times}", told.code));
    page.line(3, render::clip(&told.text, LINE));
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
