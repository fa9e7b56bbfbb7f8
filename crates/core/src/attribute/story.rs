//! The verdict as a person reads it: at most ten lines.
use super::claim::Claim;
use super::scene::{Scene, is_timeout};
use super::{Evidence, OutputEvent};
use crate::arrange::Arrange as _;
use crate::arrange::Gather as _;
use crate::{CauseClass, Culprit, Stamp};

/// Most lines of a story.
const MOST_LINES: usize = 10;

/// Longest line of a story, characters.
const WIDTH: usize = 200;

/// Tells what happened.
pub(super) fn tell(scene: &Scene<'_>, rule: &str, claim: &Claim, culprits: &[Culprit]) -> Vec<String> {
    let mut story = vec![opening(scene), verdict(rule, claim, culprits)];
    story.extend(claim.why.iter().cloned());
    let mut told: Vec<&Evidence> = claim.evidence.iter().collect();
    told.arrange();
    // What says the same again is no further evidence to a reader who has ten lines.
    let same = |a: &Evidence, b: &Evidence| (&a.node, &a.code, &a.text) == (&b.node, &b.code, &b.text);
    let mut once: Vec<&Evidence> = Vec::new();
    for evidence in told {
        if once.len() < 3 && !once.iter().any(|known| same(known, evidence)) {
            once.push(evidence);
        }
    }
    story.extend(once.into_iter().map(piece));
    story.extend(first_death(scene, claim));
    story.extend(echoes(scene));
    let blind =
        scene.evidence.nodes.iter().map(|node| node.blind.len()).sum::<usize>() + scene.evidence.blind.len();
    if blind > 0 {
        story.truncate(MOST_LINES - 1);
        let sources = if blind == 1 { "1 source".to_owned() } else { format!("{blind} sources") };
        story.push(format!("not everything could be read: {sources}"));
    }
    story.truncate(MOST_LINES);
    story.iter().map(|line| clipped(line)).collect()
}

fn opening(scene: &Scene<'_>) -> String {
    let run = &scene.evidence.run;
    let nodes = scene.evidence.nodes.len();
    let whose = if run.user.is_empty() { String::new() } else { format!(" of {}", run.user) };
    let state = if run.state.is_empty() { "ended" } else { run.state.as_str() };
    let lasted =
        run.end.map_or_else(String::new, |end| format!(" after {}", duration(end.micros_since(run.start))));
    format!("job {}{whose}: {state}{lasted} on {nodes} node{}", run.job, if nodes == 1 { "" } else { "s" })
}

fn verdict(rule: &str, claim: &Claim, culprits: &[Culprit]) -> String {
    if claim.class == CauseClass::None {
        return "cause: none".to_owned();
    }
    let who = match culprits {
        [] => "nobody named".to_owned(),
        some => some.iter().map(name).collect::<Vec<_>>().join(", "),
    };
    format!("cause: {} ({}), {who} [{rule}]", claim.class, claim.confidence)
}

fn name(culprit: &Culprit) -> String {
    match &culprit.resource {
        Some(resource) => format!("{resource} of {}", culprit.node),
        None => culprit.node.to_string(),
    }
}

fn piece(evidence: &Evidence) -> String {
    let time = evidence.time.map_or_else(String::new, |at| format!("{} ", clock(at)));
    let node = evidence.node.as_ref().map_or_else(String::new, |node| format!("{node} "));
    format!("{time}{node}{}: {}", evidence.code, evidence.text)
}

fn first_death(scene: &Scene<'_>, claim: &Claim) -> Option<String> {
    let death = scene.first_failure()?;
    if claim.class == CauseClass::None || claim.evidence.iter().any(|e| e.code.as_str() == "task.exit") {
        return None;
    }
    let node = scene.name(death.node)?;
    let who = if death.said { "rank" } else { "task" };
    Some(format!("{} {node} {who} {} ended first, with {}", clock(death.at), death.task, death.status))
}

/// What the many printed because of it.
fn echoes(scene: &Scene<'_>) -> Option<String> {
    let lines: Vec<&OutputEvent> = scene.output().filter(|seen| is_timeout(seen.code())).collect();
    let began = lines.iter().filter_map(|seen| scene.began(seen)).min();
    let ranks: std::collections::BTreeSet<u32> =
        lines.iter().filter_map(|seen| scene.places.rank(seen)).into_set();
    let since = began.map_or_else(String::new, |at| format!(" in operations begun at {}", clock(at)));
    (!lines.is_empty()).then(|| format!("{} ranks timed out{since}: symptoms", ranks.len()))
}

/// `13:05:23`: within one story the date is known.
fn clock(at: Stamp) -> String {
    let text = at.to_string();
    text.get(11..19).unwrap_or(&text).to_owned()
}

fn duration(micros: i64) -> String {
    let seconds = micros.max(0) / 1_000_000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn clipped(line: &str) -> String {
    let line = line.trim_end();
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
