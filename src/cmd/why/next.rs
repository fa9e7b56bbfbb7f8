//! What a person should do next, in one sentence. Commands in it can be pasted into a shell.
use triage_core::checks::CheckWord;
use triage_core::{Case, CauseClass, ClearedBy, Decision, Intent, JobSpan, NodeName, Subject as Whom};
use triage_ledger::{IntentRow, IntentState};

use super::resolve::Subject;
use super::story::Story;
use crate::advice;
use crate::view::{GoneView, HeldView, PolicyView, out as out_view};

/// What to do next.
pub(super) fn next(story: &Story, policy: &PolicyView) -> String {
    match story.lead() {
        Some(case) => about_case(story, case, policy),
        None => match (&story.subject, story.still_out()) {
            (Subject::Node(_) | Subject::Case(_), Some(case)) => still_out(story, case),
            (Subject::Node(node), None) => about_healthy_node(story, node),
            (Subject::Case(_), None) => closed(story).unwrap_or_else(|| "nothing".to_owned()),
            (Subject::Job(_), _) => about_job(story),
        },
    }
}

/// The repair is proven, and the node is not back.
fn still_out(story: &Story, case: &Case) -> String {
    let return_of = |decision: &&Decision| decision.intent == Intent::Resume && is_about(decision, case);
    let held = match story.decisions.iter().rfind(return_of).map(Decision::held_by) {
        Some(Some(gate)) => out_view::held(gate),
        Some(None) => "the next health check lifts it".to_owned(),
        None => "a health check lifts it where [repair] resume of the policy is \"act\"".to_owned(),
    };
    format!(
        "{} is still drained for case {}, which is {} ({}): {held}; or bring it back yourself: {}",
        case.node,
        case.id,
        case.state,
        told(&case.why),
        advice::undrain(&case.node)
    )
}

fn about_case(story: &Story, case: &Case, policy: &PolicyView) -> String {
    let drain = story.actions.iter().rfind(|row| row.action.kind() == "drain" && concerns(row, case));
    let state = drain.map(|row| row.state);
    if case.synthetic {
        return drill(case, state == Some(IntentState::Done));
    }
    let node = &case.node;
    let gone = GoneView::of(case, &story.settings, &story.states);
    let gone = gone.map(|gone| format!("{}; {}", gone.sentence, gone.remedy));
    if let (Some(gone), None) = (&gone, drain) {
        return gone.clone();
    }
    let mend = gone.unwrap_or_else(|| mend(case));
    match (state, drain) {
        (Some(IntentState::Done), _) if !case.stood_down => {
            let back = if policy.brings_back {
                "then a health check lifts the drain, once the case is closed and the tests of [repair] have passed"
                    .to_owned()
            } else {
                format!("then {}", advice::undrain(node))
            };
            format!("{node} is drained: {mend}; {back}")
        }
        (Some(IntentState::Pending | IntentState::Running), Some(row)) => {
            let answer =
                if row.answer.is_empty() { String::new() } else { format!(" (so far: {})", row.answer) };
            format!(
                "the drain is pending{answer}: the next health check tries it, or now: {}",
                advice::drain(case)
            )
        }
        (Some(IntentState::Failed | IntentState::Expired), Some(row)) => {
            format!("the drain was not done ({}): {}; then {mend}", told(&row.answer), advice::drain(case))
        }
        _ => without_drain(story, case, policy, &mend),
    }
}

fn without_drain(story: &Story, case: &Case, policy: &PolicyView, mend: &str) -> String {
    let node = &case.node;
    if case.stood_down {
        return format!("a person undid our drain of {node}, so it is left to people: {mend}");
    }
    let decided = story.decisions.iter().rfind(|decision| is_about(decision, case));
    let held = decided.filter(|d| d.intent == Intent::Drain).and_then(Decision::held_by);
    if let Some(held) = HeldView::of(case, &story.decisions, &policy.brake).filter(|_| held.is_some()) {
        return held_by(story, case, &held, mend);
    }
    match held.map(|gate| gate.name.as_str()) {
        Some("mode") => format!(
            "nothing was done, since policy says monitor: {}; then {mend}. To have it done next time, set drain = \
             \"act\" under [mode] in {}",
            advice::drain(case),
            policy.path.display()
        ),
        Some(gate) => format!("nothing was done (held by {gate}): {mend}"),
        None if case.advice.wants_node_out() => format!("look at {node}: {mend}"),
        None => format!("keep an eye on it: nothing asks for {node} to go out of service"),
    }
}

/// Somebody or something holds the drain: who, why, when it is looked at again, and how to do it all the same.
fn held_by(story: &Story, case: &Case, held: &HeldView<'_>, mend: &str) -> String {
    let node = &case.node;
    let by_hand = advice::drain(case);
    let because = format!("the drain is held by {}: {}", held.held_by, held.because);
    match held.held_by {
        "foreign_reason" => format!("{node} is out already for another reason, which stays: {mend}"),
        "operator_hold" => {
            let release = story.holds.iter().find(|hold| hold.sentence() == held.because);
            let release = release.map_or_else(
                || "NODE|JOB|CASE".to_owned(),
                |hold| format!("{}:{}", hold.on.kind(), hold.on.name()),
            );
            format!(
                "{because}; slurm-triage release {release} --reason 'what changed' lets it through, or drain it yourself: \
                     {by_hand}; then {mend}"
            )
        }
        // Somebody else is at work on it: he is not to find it rebooted.
        "reservation" => format!(
            "{because}; tell whoever is at work on {node} of the case. A health check decides anew once that is over, or drain \
             it yourself then: {by_hand}"
        ),
        "brake" | "exception" => format!(
            "{because}; looked at again {}, or drain it yourself: {by_hand}; then {mend}",
            held.next()
        ),
        // Whether the node should go out at all is in doubt.
        gate => format!("nothing was done (held by {gate}: {}): {mend}", held.because),
    }
}

fn drill(case: &Case, drained: bool) -> String {
    let lift = if drained { format!("; then {}", advice::undrain(&case.node)) } else { String::new() };
    format!("this is a drill, nothing is broken: slurm-triage inject --end ends it{lift}")
}

/// What proves the fault gone, as something to do.
fn mend(case: &Case) -> String {
    let gpu = case.resource.pci().map_or_else(|| "the GPU".to_owned(), |pci| format!("GPU {pci}"));
    let closes = "the next health check closes the case when it reads healthy";
    match case.clears {
        ClearedBy::GpuReset => format!("reset {gpu} (nvidia-smi --gpu-reset) or boot the node; {closes}"),
        ClearedBy::Reboot => format!("boot the node; {closes}"),
        ClearedBy::RowRemap => {
            format!("reset {gpu} once it is idle, so that its rows are remapped; {closes}")
        }
        ClearedBy::LinkUp => "bring the link up; the case is closed once it stays up".to_owned(),
        ClearedBy::CheckPasses => {
            "mend what the check names; the case is closed once the check finds it good for long enough"
                .to_owned()
        }
        ClearedBy::Ack | ClearedBy::None => {
            format!(
                "have it repaired; no reading proves it, so a person's word closes the case: slurm-triage ack {} --reason \
                 'what was done'",
                case.id
            )
        }
    }
}

fn about_job(story: &Story) -> String {
    let last = story.runs.last().map(|run| &run.span);
    let verdict = story.verdicts.last();
    match (verdict, last) {
        (Some(verdict), last) => match verdict.class {
            CauseClass::Application => "look at the job's own output: no node is to blame".to_owned(),
            CauseClass::Unknown | CauseClass::None => unexplained(last),
            class => closed(story).unwrap_or_else(|| match verdict.culprits.first() {
                Some(culprit) => {
                    format!("slurm-triage why {} on {}: its {class} is to blame", culprit.node, culprit.node)
                }
                None => format!("look for the {class} cause on all nodes of the job"),
            }),
        },
        (None, Some(span)) if span.end.is_none() => {
            "nothing: the job is on the node, and nothing is known against it".to_owned()
        }
        (None, Some(span)) if span.exit.is_some_and(triage_core::ExitStatus::is_success) => {
            "nothing: it ended well".to_owned()
        }
        (None, Some(span)) if span.exit.is_none() && span.state == "REQUEUED" => {
            "nothing: this run was put back into the queue before it had ended".to_owned()
        }
        (None, Some(span)) if !span.is_batch_host() => {
            let host = span.nodes.first().unwrap_or(&span.node);
            format!(
                "slurm-triage why {} on {host}, its batch host, which judges it",
                span.run.scontrol_name()
            )
        }
        (None, last) => closed(story).unwrap_or_else(|| unexplained(last)),
    }
}

fn unexplained(span: Option<&JobSpan>) -> String {
    let others = span.map_or(0, |span| span.nodes.len().saturating_sub(1));
    let elsewhere = match (span, others) {
        (Some(span), 1..) => {
            format!(", then slurm-triage why {} on its other nodes", span.run.scontrol_name())
        }
        _ => String::new(),
    };
    format!("no trusted source of this node explains it: read the job's output{elsewhere}")
}

fn about_healthy_node(story: &Story, node: &NodeName) -> String {
    match story.blind.first() {
        Some(source) => {
            format!("slurm-triage doctor: {} cannot be read, so not all can be known", source.source)
        }
        None => match story.states.iter().find(|state| state.state == CheckWord::Bad) {
            Some(state) => format!(
                "no case is open, but check {} finds something bad: {}; slurm-triage checks lists all of them",
                state.name, state.text
            ),
            None => format!("nothing: nothing is known against {node}"),
        },
    }
}

fn closed(story: &Story) -> Option<String> {
    let case = story.last_closed()?;
    Some(format!("nothing: case {} is {} ({})", case.id, case.state, told(&case.why)))
}

fn told(text: &str) -> &str {
    if text.is_empty() { "no reason was given" } else { text }
}

fn concerns(row: &IntentRow, case: &Case) -> bool {
    matches!(&row.action, triage_core::Action::Drain { case: of, .. } if *of == case.id)
}

fn is_about(decision: &Decision, case: &Case) -> bool {
    matches!(decision.subject, Whom::Node(_)) && decision.case.as_ref() == Some(&case.id)
}
