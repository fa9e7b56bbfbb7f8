//! Runs of the job on this node, and how their tasks ended.
use triage_core::JobSpan;

use crate::cmd::jobs;
use crate::cmd::why::resolve::Subject;
use crate::cmd::why::story::{Run, Story};
use crate::render::{self, Page};
use crate::view::{TaskView, TasksView};

/// Failed tasks told after the first one.
const MORE_TASKS: usize = 3;

pub(super) fn runs(page: &mut Page, story: &Story) {
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
