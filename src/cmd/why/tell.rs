//! The story as text.
use triage_core::{Case, Decision, Event, Gate, JobSpan, Verdict};

use super::resolve::Subject;
use super::story::{Run, Story};
use crate::cmd::{cases, jobs};
use crate::render::{self, Page};
use crate::site::Site;
use crate::view::{ActionView, CodeView, SourceView, TaskView, TasksView, TroubleView};

/// Most characters shown of one line of a log. The ledger has all of it: `--json`.
const LINE: usize = 500;
/// Failed tasks told after the first one.
const MORE_TASKS: usize = 3;

/// The page.
pub(super) fn page(story: &Story, site: &Site, also: &[Subject], next: &str) -> Page {
    let mut page = Page::default();
    page.line(0, headline(story, site));
    for other in also {
        page.line(0, format_args!("({} is also a {}: slurm-triage why {other})", other.name(), other.kind()));
    }
    runs(&mut page, story);
    verdicts(&mut page, story);
    all_cases(&mut page, story);
    events(&mut page, story);
    decisions(&mut page, &story.decisions);
    actions(&mut page, story);
    blind(&mut page, story);
    audit(&mut page, story);
    codes(&mut page, &story.codes);
    page.heading(format_args!("Next: {next}"));
    page
}

fn headline(story: &Story, site: &Site) -> String {
    let node = &site.node;
    match &story.subject {
        Subject::Node(node) => {
            let open = story.cases.iter().filter(|case| case.is_open()).count();
            format!("node {node}: {}", counted(open, "open case"))
        }
        Subject::Case(id) => story.cases.iter().find(|case| case.id == *id).map_or_else(
            || format!("case {id}"),
            |case| {
                let code = render::marked(&case.code, case.synthetic);
                format!("case {id}: {code} on {} of {}, {}", case.resource, case.node, cases::state(case))
            },
        ),
        Subject::Job(_) => {
            let runs = counted(story.runs.len(), "run");
            let more = if story.more_runs { " (the latest; there are older ones)" } else { "" };
            format!("job {}: {runs} on {node}{more}", story.subject.name())
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

fn runs(page: &mut Page, story: &Story) {
    if let (Subject::Node(_), []) = (&story.subject, story.runs.as_slice()) {
        return;
    }
    for Run { span, tasks } in &story.runs {
        page.heading(format_args!("Job {}, restart {}", span.run.scontrol_name(), span.run.restart));
        page.line(1, owner(span));
        page.line(1, format_args!("{}  started", render::millis(span.run.start)));
        page.line(1, ended(span));
        if !tasks.is_empty() {
            self::tasks(page, tasks);
        }
    }
}

fn owner(span: &JobSpan) -> String {
    let mut parts =
        vec![if span.user.is_empty() { format!("uid {}", span.uid) } else { format!("user {}", span.user) }];
    if !span.partition.is_empty() {
        parts.push(format!("partition {}", span.partition));
    }
    match span.nodes.first() {
        Some(host) if span.nodes.len() > 1 => {
            parts.push(format!("{} nodes, batch host {host}", span.nodes.len()));
        }
        _ => {}
    }
    if !span.gpus.is_empty() {
        parts.push(format!("GPUs {}", jobs::gpus(&span.gpus)));
    }
    if span.ask != triage_core::JobAsk::Default {
        parts.push(format!("asked for --triage={}", span.ask));
    }
    parts.join(", ")
}

fn ended(span: &JobSpan) -> String {
    let Some(end) = span.end else { return "it is on the node".to_owned() };
    let how = match (span.exit, span.state.as_str()) {
        (Some(exit), "") => render::ending(exit),
        (Some(exit), state) => format!("{}, {state}", render::ending(exit)),
        (None, "") => "how is not known: no epilog told".to_owned(),
        (None, state) => state.to_owned(),
    };
    let lasted = u64::try_from(end.micros_since(span.run.start)).unwrap_or(0);
    let lasted = render::duration(std::time::Duration::from_micros(lasted));
    format!("{}  ended after {lasted}: {how}", render::millis(end))
}

fn tasks(page: &mut Page, tasks: &TasksView) {
    page.line(
        1,
        format_args!("tasks here: {} started, {} ended, {} failed", tasks.started, tasks.ended, tasks.failed),
    );
    if let Some((first, rest)) = tasks.first_failed.split_first() {
        page.line(2, format_args!("{}  first to fail: {}", render::millis(first.at), task(first)));
        for later in rest.iter().take(MORE_TASKS) {
            page.line(
                2,
                format_args!(
                    "{}  then {}, {} s later",
                    render::millis(later.at),
                    task(later),
                    between(first, later)
                ),
            );
        }
        let untold = tasks.failed.saturating_sub(1 + MORE_TASKS);
        if untold > 0 {
            page.line(2, format_args!("and {untold} more"));
        }
    }
    if let Some(batch) = &tasks.batch {
        page.line(
            2,
            format_args!(
                "{}  the batch script ended: {}",
                render::millis(batch.at),
                render::ending(batch.exit)
            ),
        );
    }
}

fn task(task: &TaskView) -> String {
    let gpus = if task.gpus.is_empty() { String::new() } else { format!(", GPU {}", task.gpus.join(",")) };
    format!(
        "rank {} of step {} (pid {}{gpus}), {}",
        task.rank,
        task.step,
        task.pid,
        render::ending(task.exit)
    )
}

fn between(first: &TaskView, later: &TaskView) -> String {
    let millis = later.at.micros_since(first.at) / 1_000;
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

fn verdicts(page: &mut Page, story: &Story) {
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

fn all_cases(page: &mut Page, story: &Story) {
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
        cases::state(case),
        case.confidence,
        case.class,
        case.fault,
        case.provenance,
        case.advice,
        case.clears
    )
}

fn events(page: &mut Page, story: &Story) {
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

fn decisions(page: &mut Page, decisions: &[Decision]) {
    if decisions.is_empty() {
        return;
    }
    page.heading("Decisions");
    for decision in decisions {
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
    }
}

fn gate(page: &mut Page, gate: &Gate) {
    let word = if gate.passed { "passed" } else { "HELD  " };
    page.line(3, format_args!("{word}  {:<15}  {}", gate.name, render::clip(&gate.why, LINE)));
}

fn actions(page: &mut Page, story: &Story) {
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

fn blind(page: &mut Page, story: &Story) {
    if story.blind.is_empty() {
        return;
    }
    page.heading("Not known now, for want of a source");
    for source in story.blind.iter().map(SourceView::from) {
        let since = source.blind_since.map(render::seconds).unwrap_or_default();
        page.line(1, format_args!("{} {} since {since}: {}", source.name(), source.state, source.reason));
    }
}

fn audit(page: &mut Page, story: &Story) {
    if story.audit.is_empty() {
        return;
    }
    page.heading("Audit");
    for row in story.audit.iter().map(TroubleView::from) {
        let who = if row.actor.is_empty() {
            row.program.to_owned()
        } else {
            format!("{} by {}", row.program, row.actor)
        };
        let kind = render::marked(row.kind, row.synthetic);
        page.line(
            1,
            format_args!("{}  {kind} ({who}): {}", render::millis(row.at), render::clip(row.text, LINE)),
        );
    }
}

fn codes(page: &mut Page, codes: &[CodeView]) {
    if codes.is_empty() {
        return;
    }
    page.heading("What the codes mean");
    for code in codes {
        page.line(1, format_args!("{}  {}", code.code, code.name));
        page.paragraph(3, "What  ", &code.description);
        page.paragraph(3, "Impact", &code.impact);
        page.paragraph(3, "Remedy", &code.remedy);
        page.paragraph(3, "Site  ", &code.reason);
    }
}
