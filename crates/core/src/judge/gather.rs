//! What this pass knows of the run, as attribution takes it: this node whole, of the others what they told.
use super::{own, peers};
use crate::attribute::{JobEvidence, RunFacts};
use crate::pipeline::{Asked, Input};
use crate::{Case, Event, JobAsk, JobSpan, NodeName, TaskWhat};

pub(super) fn evidence(input: &Input<'_>, span: &JobSpan, events: &[Event], cases: &[Case]) -> JobEvidence {
    let mut own = Some(own::node(input, span, events, cases));
    let alone = [span.node.clone()];
    let names: &[NodeName] = if span.nodes.is_empty() { &alone } else { &span.nodes };
    let nodes = names
        .iter()
        .map(|name| match own.take_if(|own| own.node == *name) {
            Some(own) => own,
            None => peers::node(input, span, name),
        })
        .collect();
    JobEvidence {
        run: facts(input, span),
        nodes,
        output: input.output.get().map(|report| report.events.clone()).unwrap_or_default(),
        flight: None,
        history: input.history.clone(),
        history_of: Some(span.node.clone()),
        blind: blind(input, span),
    }
}

fn facts(input: &Input<'_>, span: &JobSpan) -> RunFacts {
    RunFacts {
        job: match span.run.array {
            Some(array) => format!("{}_{}", array.job, array.task),
            None => span.run.job.to_string(),
        },
        user: if span.user.is_empty() { span.uid.to_string() } else { span.user.clone() },
        state: state(input, span),
        exit: span.exit,
        start: span.run.start,
        end: span.end.or(Some(input.now)),
        restart: span.run.restart,
        ranks_per_node: ranks_per_launcher(input, span),
    }
}

/// Slurm's word for the end. A job that is still being taken down has none yet: its exit code tells then.
fn state(input: &Input<'_>, span: &JobSpan) -> String {
    let said = super::record(input, span).map_or(span.state.as_str(), |job| job.state.as_str());
    let final_word = !matches!(said, "RUNNING" | "COMPLETING" | "PENDING" | "SUSPENDED" | "CONFIGURING");
    if final_word { said.to_owned() } else { String::new() }
}

/// One task with several GPUs is a launcher, torchrun or its like, and starts one rank a GPU. More tasks are ranks
/// themselves.
fn ranks_per_launcher(input: &Input<'_>, span: &JobSpan) -> Option<u32> {
    let of_steps = |edge: &&crate::TaskEdge| edge.what == TaskWhat::Start && edge.step.parse::<u32>().is_ok();
    let mut tasks: Vec<u32> =
        input.tasks.iter().map(|(_, edge)| edge).filter(of_steps).map(|e| e.rank).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let gpus = u32::try_from(span.gpus.len()).ok().filter(|gpus| *gpus > 1)?;
    (tasks.len() == 1).then_some(gpus)
}

/// What of the job as a whole was not seen.
fn blind(input: &Input<'_>, span: &JobSpan) -> Vec<String> {
    let mut blind = Vec::new();
    if let Asked::NoAnswer(why) = &input.job {
        blind.push(format!("the job's record: {why}"));
    }
    let others = span.nodes.iter().filter(|node| **node != span.node).count();
    let whose = if others == 1 { "the other node".to_owned() } else { format!("the other {others} nodes") };
    match &input.peers {
        Asked::NoAnswer(why) => blind.push(format!("the word of {whose}: {why}")),
        _ if others > 0 => {
            blind.push(format!("of {whose} no more is known than what nodes tell of themselves"));
        }
        _ => {}
    }
    match &input.output {
        Asked::Answer(report) => blind.extend(report.blind.iter().cloned()),
        Asked::NoAnswer(why) => blind.push(format!("output: {why}")),
        Asked::NotAsked if span.ask == JobAsk::Off => {
            blind.push("output: not read, the job asked to be left alone (--triage=off)".to_owned());
        }
        Asked::NotAsked => blind.push("output: not read, the end is explained without it".to_owned()),
    }
    blind
}
