//! Gates that the policy sets in figures and lists: how sure, who is excepted, whose node it is, and the brakes.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use super::gates::gate;
use super::hold;
use crate::fleet::BRAKE;
use crate::pipeline::{Asked, Input, Trigger};
use crate::policy::{AGAIN, Except, Glob, Matched};
use crate::{Case, Confidence, Decision, Gate, JobRecord, JobSpan, NodeRecord, Stamp, Verdict, fleet};

/// Less sure than the site asks for is left alone, whatever a rule says.
pub(super) fn confidence(is: Confidence, least: Confidence) -> Gate {
    let passed = is >= least;
    let why = if passed { "as sure as" } else { "less sure than" };
    gate("confidence", passed, format!("{is}, {why} the site asks for: {least}"))
}

/// A node we brought back lately is believed less: what is only probable is enough then.
pub(super) fn probation(input: &Input<'_>, case: &Case) -> Option<Gate> {
    let raised = super::claims::confidence(input, case) != case.confidence;
    raised.then(|| gate("probation", true, "it came back lately: a probable fault counts as a confirmed one"))
}

/// A rule that could not be ruled out might have wanted less.
pub(super) fn doubt(matched: &Matched<'_>) -> Option<Gate> {
    let doubt = matched.doubt?;
    let why = format!("rule {} cannot be ruled out: the {} is not known", doubt.rule, doubt.fact);
    Some(gate("facts", false, why))
}

/// A node under maintenance, in a reservation, powered down or about to reboot is somebody else's now.
pub(super) fn reservation(record: &Asked<NodeRecord>, states: &[String]) -> Gate {
    const NAME: &str = "reservation";
    let Some(record) = record.get() else {
        return gate(NAME, true, "not read in this pass; read again right before acting");
    };
    match record.has_state_of(states) {
        Some(state) => gate(NAME, false, format!("the node is {state}: it is left alone")),
        None => gate(NAME, true, "nobody has reserved the node or is at work on it"),
    }
}

/// Nodes and partitions that the site excepts.
pub(super) fn excepted_node(input: &Input<'_>, except: &Except) -> Gate {
    const NAME: &str = "exception";
    let partitions = input.node_record.get().map_or(&[][..], |record| &record.partitions);
    let partition = partitions.iter().find(|name| any(&except.partitions, name));
    if except.nodes.iter().any(|hosts| hosts.has(&input.node)) {
        return gate(NAME, false, format!("{} is on the list of nodes that are left alone", input.node));
    }
    match partition {
        Some(name) => gate(NAME, false, format!("partition {name} is on the list of those left alone")),
        None if !except.partitions.is_empty() && input.node_record.get().is_none() => {
            gate(NAME, false, "some partitions are to be left alone, and this node's are not known")
        }
        None => gate(NAME, true, "on no list of exceptions"),
    }
}

/// Users, accounts and partitions whose jobs the site excepts.
pub(super) fn excepted_job(span: &JobSpan, job: &Asked<JobRecord>, except: &Except) -> Gate {
    const NAME: &str = "exception";
    let account = account(job);
    let lists = [
        ("user", &except.users, Some(span.user.as_str()).filter(|user| !user.is_empty())),
        ("partition", &except.partitions, Some(span.partition.as_str()).filter(|name| !name.is_empty())),
        ("account", &except.accounts, account),
    ];
    for (what, list, is) in lists.into_iter().filter(|(_, list, _)| !list.is_empty()) {
        match is {
            Some(name) if any(list, name) => {
                return gate(NAME, false, format!("{what} {name} is on the list of those left alone"));
            }
            Some(_) => {}
            None => {
                let why = format!("some {what}s are to be left alone, and this job's is not known");
                return gate(NAME, false, why);
            }
        }
    }
    gate(NAME, true, "on no list of exceptions")
}

fn any(globs: &[Glob], text: &str) -> bool {
    globs.iter().any(|glob| glob.matches(text))
}

/// The job's account, where its record tells it.
pub(super) fn account(job: &Asked<JobRecord>) -> Option<&str> {
    field(job, "Account")
}

/// The job's quality of service, where its record tells it.
pub(super) fn qos(job: &Asked<JobRecord>) -> Option<&str> {
    field(job, "QOS")
}

fn field<'a>(job: &'a Asked<JobRecord>, name: &str) -> Option<&'a str> {
    let value = job.get()?.fields.get(name)?.as_str();
    Some(value).filter(|value| !matches!(*value, "" | "(null)" | "N/A"))
}

/// Many nodes of one job to blame at once: so many do not break by themselves in the same moment.
pub(super) fn suspect_nodes(verdict: &Verdict, most: u32) -> Gate {
    const NAME: &str = "many_nodes";
    let nodes: BTreeSet<_> = verdict.culprits.iter().map(|culprit| &culprit.node).into_set();
    let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    if count >= most.max(1) {
        let why = format!("{count} nodes of the job at once: suspect the job or the network first");
        return gate(NAME, false, why);
    }
    gate(NAME, true, format!("{count} to blame, fewer than {most}"))
}

/// How many nodes are out by us already. Only asked where everything else lets the drain through.
pub(super) fn brake(input: &Input<'_>, case: &Case) -> Gate {
    if input.node_record.get().is_some_and(fleet::is_out_by_us) {
        return gate(BRAKE, true, "the node is out by us already");
    }
    match &input.fleet {
        Asked::Answer(fleet) => {
            let limits = limits(input, case, fleet);
            match fleet::held(&limits, &fleet.nodes, &input.node) {
                Some(why) => gate(BRAKE, false, why),
                None => {
                    let unknown = fleet.no_switch.iter().map(|why| format!("; no racks are known: {why}"));
                    let unknown: String = unknown.collect();
                    gate(BRAKE, true, format!("fewer nodes are out by us than the brakes allow{unknown}"))
                }
            }
        }
        unasked => still_held(input, case).unwrap_or_else(|| {
            // Whoever drains looks again afterwards and takes it back where it was one too many.
            let why = match unasked {
                Asked::NoAnswer(why) => format!("not known ({why})"),
                _ => "not asked in this pass".to_owned(),
            };
            gate(BRAKE, true, format!("{why}; looked at after the drain"))
        }),
    }
}

/// What a brake held stays held until somebody has looked whether there is room: not a prolog, not while the controller does
/// not answer, and not with every health check. Each look reads every node's record, and where many nodes are held at once
/// they would be at it all the time.
fn still_held(input: &Input<'_>, case: &Case) -> Option<Gate> {
    let (last, held) = held_last(input, case)?;
    // What a person holds is not carried out, and so nobody looks.
    let looks = input.trigger != Trigger::Prolog
        && matches!(input.fleet, Asked::NotAsked)
        && is_due(input, case, last)
        && !hold::holds_case(input, case);
    let told = held.why.split(AGAIN).next().unwrap_or_default();
    let due = next_look(input, case, last);
    (!looks).then(|| gate(BRAKE, false, format!("{told}{AGAIN}{due} on")))
}

/// The brake that held the last decision for this case, where nobody asks for it now since another gate holds: it goes on
/// holding once that one does not.
pub(super) fn held_as_well(input: &Input<'_>, case: &Case) -> Option<Gate> {
    held_last(input, case).map(|(_, held)| held.clone())
}

/// Whether it is time for another look. One of a clock that was ahead does not put it off.
fn is_due(input: &Input<'_>, case: &Case, last: &Decision) -> bool {
    input.now >= next_look(input, case, last) || input.now < last.at
}

/// From when on it is looked at again.
fn next_look(input: &Input<'_>, case: &Case, last: &Decision) -> Stamp {
    input.policy.brake.next_look(case.opened_at, last.at)
}

/// Whether `last` was held by a brake, and this pass has looked once more as it should: to be told again, since the wait for
/// the next look begins with it.
pub(super) fn is_another_look(input: &Input<'_>, case: &Case, last: &Decision) -> bool {
    let brake = |gate: &Gate| gate.name == BRAKE;
    // A site that has every health check look needs no word of each.
    input.policy.brake.look_again_s > 0
        && matches!(input.fleet, Asked::Answer(_))
        && last.held_by().is_some_and(brake)
        && is_due(input, case, last)
}

/// The brakes for a drain over this case. The runs that may have to do with it are those that were still here when it
/// began. When a run began here is not always known: a node without a step of it had no prolog.
pub(super) fn limits(input: &Input<'_>, case: &Case, fleet: &fleet::Fleet) -> Vec<fleet::Limit> {
    let concerns = |span: &&JobSpan| span.end.is_none_or(|end| case.opened_at <= end);
    let spans = input.span.iter().chain(input.spans.iter().filter(concerns));
    fleet::limits(&input.policy.brake, fleet, &input.node, input.now, spans)
}

/// Whether a brake held the last decision to drain for this case.
pub(super) fn held_by_brake(input: &Input<'_>, case: &Case) -> Gate {
    match held_last(input, case) {
        Some((_, held)) => gate(BRAKE, false, format!("the drain of this node is held: {}", held.why)),
        None => gate(BRAKE, true, "no brake holds this node's drain"),
    }
}

/// The last decision to drain for this case, where a brake held it, alone or with others, and that brake's gate.
fn held_last<'a>(input: &'a Input<'_>, case: &Case) -> Option<(&'a Decision, &'a Gate)> {
    let of_case = |decision: &&Decision| {
        decision.case.as_ref() == Some(&case.id) && decision.intent == crate::Intent::Drain
    };
    let last = input.decided.iter().rev().find(of_case)?;
    let held = last.gates.iter().find(|gate| gate.name == BRAKE && !gate.passed)?;
    Some((last, held))
}
