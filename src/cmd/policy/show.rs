//! `slurm-triage policy show`: the policy that holds.
use std::path::Path;

use serde::Serialize;
use triage_core::policy::{Glob, Policy, Repair, Rule, Step};
use triage_core::{Mode, NodeName, Stamp};
use triage_hooks::policy_file;

use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page, Table};
use crate::site::Site;
use crate::view::{self, PolicyView};

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    path: &'a Path,
    present: bool,
    error: Option<&'a str>,
    digest: String,
    policy: &'a Policy,
}

pub(super) fn run(common: &Common) -> CmdResult {
    let site = Site::find(common)?;
    let view = PolicyView::load(&site);
    // What the hooks do with a file that cannot be used: the shipped rules, in monitor mode.
    let policy = policy_file::load(&view.path).unwrap_or_default();
    if common.json {
        render::json(&Document {
            v: view::VERSION,
            node: &site.node,
            at: site.now,
            path: &view.path,
            present: view.present,
            error: view.error.as_deref(),
            digest: policy_file::digest(&policy),
            policy: &policy,
        })?;
    } else {
        render::print(page(&view, &policy).text())?;
    }
    Ok(if view.error.is_some() { exit::FINDINGS } else { exit::OK })
}

fn page(view: &PolicyView, policy: &Policy) -> Page {
    let mut page = Page::default();
    match (&view.error, view.present) {
        (Some(error), _) => page.line(0, format_args!("{error}: the shipped rules hold, in monitor mode")),
        (None, true) => {
            page.line(0, format_args!("{} ({})", view.path.display(), policy_file::digest(policy)))
        }
        (None, false) => {
            page.line(0, format_args!("{}: not there; the shipped rules hold", view.path.display()))
        }
    }
    for (action, mode) in view.mode.each() {
        page.line(1, format_args!("{action}: {mode}"));
    }
    page.heading("Rules, the first that matches decides");
    let mut table = Table::new(&["RULE", "NODE", "JOB", "MODE", "WHEN"]);
    for rule in &policy.rules {
        table.row(vec![
            rule.name.clone(),
            rule.node.to_string(),
            rule.job.to_string(),
            rule.mode.as_ref().map(Mode::to_string).unwrap_or_default(),
            when(rule),
        ]);
    }
    page.table(1, &table);
    page.heading("Bounds");
    let (job, node, brake) = (&policy.job, &policy.node, &policy.brake);
    page.line(1, format_args!(
        "a job: {} restarts, {} s between the first two, doubling; a restart shorter than {} s counts double; stopped \
         after {} runs with the same fault on different nodes; left alone with {} nodes to blame or more",
        job.max_restarts, job.backoff_s, job.progress_s, job.same_fault_runs, job.suspect_nodes
    ));
    page.line(
        1,
        format_args!(
            "a job that still runs: {}; {} in its output",
            match (job.requeue_running, job.kill_steps_first) {
                (false, _) => "its end is waited for",
                (true, false) => "requeued once its node is out for a part of the job's",
                (true, true) => "killed and requeued once its node is out for a part of the job's",
            },
            if job.last_line { "a line" } else { "no line" }
        ),
    );
    page.line(
        1,
        format_args!(
            "a node: {} or surer; left alone when {}",
            node.min_confidence,
            node.leave_alone_states.join(", ")
        ),
    );
    page.line(
        1,
        format_args!(
            "drains: at most {} nodes, {} % of a partition ({} if that is more), {} on a switch, {} of a job, {} in {} s",
            brake.max_nodes,
            (brake.max_share * 100.0).round(),
            brake.min_nodes,
            brake.max_per_switch,
            brake.max_per_job,
            brake.max_in_window,
            brake.window_s
        ),
    );
    way_back(&mut page, &policy.repair);
    page
}

fn way_back(page: &mut Page, repair: &Repair) {
    page.heading("Return to service");
    page.line(
        1,
        format_args!(
            "lift our own drain after a proven repair: {}; reset a GPU: {}; boot the node again: {}",
            word(repair.resume),
            word(repair.reset),
            word(repair.reboot)
        ),
    );
    for test in &repair.verify {
        let of = if test.fault.is_empty() {
            "every fault".to_owned()
        } else {
            test.fault.iter().map(Glob::as_str).collect::<Vec<_>>().join(" ")
        };
        page.line(
            1,
            format_args!(
                "test {}, at most {} s, after {of}: {}",
                test.name,
                test.deadline_s,
                test.command.join(" ")
            ),
        );
    }
    page.line(
        1,
        format_args!(
            "at most {} returns of a node in {} days; on probation for {} days after one",
            repair.max_returns, repair.return_days, repair.probation_days
        ),
    );
}

const fn word(step: Step) -> &'static str {
    match step {
        Step::Off => "off",
        Step::Monitor => "monitor",
        Step::Act => "act",
    }
}

/// The conditions as they stand in the file.
fn when(rule: &Rule) -> String {
    // By way of text, as it is written elsewhere too: a type is generated once for each way it is written.
    let json = serde_json::to_string(rule).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    let shown = |key: &str| {
        let value = json.get(key)?;
        let idle = value.is_null() || value.as_array().is_some_and(Vec::is_empty) || *value == "suspected";
        let words: Vec<&str> = value.as_array()?.iter().filter_map(|word| word.as_str()).collect();
        (!idle).then(|| format!("{key} {}", words.join(" ")))
    };
    let lists =
        ["class", "code", "resource", "nodes", "partition", "account", "qos", "user", "hours", "weekdays"];
    let mut parts: Vec<String> = lists.into_iter().filter_map(shown).collect();
    if rule.confidence > triage_core::Confidence::Suspected {
        parts.insert(0, format!("{} or surer", rule.confidence));
    }
    parts.extend(rule.evidence.map(|whose| format!("{whose} evidence")));
    parts.extend(rule.repeats.map(|repeats| format!("{} times in {} days", repeats.count, repeats.days)));
    if parts.is_empty() { "always".to_owned() } else { parts.join("; ") }
}
