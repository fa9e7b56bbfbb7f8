//! The answer of `diagnose`.
use serde::Serialize;
use triage_core::Intent;
use triage_core::attribute::{self, Attribution};

use crate::Decision;

/// Why a run ended, and what the policy would do. The names of the fields are those of the JSON output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// `hardware`, `network`, `system`, `application`, `unknown`; `none` when there is nothing to explain.
    pub class: String,
    /// `suspected`, `probable`, `confirmed`.
    pub confidence: String,
    /// Who is to blame; empty: nobody can be named.
    pub culprits: Vec<Culprit>,
    /// Nodes that the policy would drain in act mode.
    pub drain: Vec<String>,
    /// What the policy would do with the job in act mode: `requeue`, `requeue_hold`, `stop`, `none`.
    pub job: String,
    /// What the verdict rests on, oldest first.
    pub evidence: Vec<Evidence>,
    /// What was seen and does not count, with the reason.
    pub discounted: Vec<Discounted>,
    /// What could not be seen.
    pub blind: Vec<String>,
    /// At most ten lines a person reads in ten seconds.
    pub story: Vec<String>,
}

/// Who is to blame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Culprit {
    /// The node.
    pub node: String,
    /// The part of it (`gpu:0000:61:00.0`), where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The catalogue's name for it.
    pub code: String,
    /// On which node, where it is known.
    pub node: Option<String>,
    /// When, RFC 3339, where it is known.
    pub time: Option<String>,
    /// The line, or what was found, in words.
    pub text: String,
}

/// Something seen that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discounted {
    /// The catalogue's name for it.
    pub code: String,
    /// On which node, where it is known.
    pub node: Option<String>,
    /// When it was seen first, RFC 3339, where it is known.
    pub time: Option<String>,
    /// The first of its lines.
    pub text: String,
    /// How many of its kind.
    pub count: u64,
    /// Why it does not count.
    pub why: String,
}

pub(crate) fn report(attribution: Attribution, decision: Decision) -> Report {
    let mut story: Vec<String> = attribution.story.iter().map(|line| plain(line)).collect();
    if let Some(told) = told(&decision) {
        story.truncate(9);
        story.push(told);
    }
    Report {
        class: attribution.class.to_string(),
        confidence: attribution.confidence.to_string(),
        culprits: attribution
            .culprits
            .iter()
            .map(|culprit| Culprit {
                node: culprit.node.to_string(),
                resource: culprit.resource.as_ref().map(|resource| plain(&resource.to_string())),
            })
            .collect(),
        drain: decision.drain.iter().map(ToString::to_string).collect(),
        job: decision.job.to_string(),
        evidence: attribution.evidence.iter().map(evidence).collect(),
        discounted: attribution.discounted.iter().map(discounted).collect(),
        blind: attribution.blind.iter().map(|line| plain(line)).collect(),
        story,
    }
}

/// The last line of the story: what the policy makes of it.
fn told(decision: &Decision) -> Option<String> {
    let nodes: Vec<&str> = decision.drain.iter().map(|node| node.as_str()).collect();
    let job = match decision.job {
        Intent::Requeue => Some("requeue the job"),
        Intent::RequeueHold => Some("requeue the job, held"),
        Intent::Stop => Some("do not run the job again"),
        _ => None,
    };
    match (nodes.as_slice(), job) {
        ([], None) => None,
        ([], Some(job)) => Some(format!("policy in act mode: {job}")),
        (nodes, None) => Some(format!("policy in act mode: drain {}", nodes.join(" "))),
        (nodes, Some(job)) => Some(format!("policy in act mode: drain {}, {job}", nodes.join(" "))),
    }
}

fn evidence(evidence: &attribute::Evidence) -> Evidence {
    Evidence {
        code: evidence.code.to_string(),
        node: evidence.node.as_ref().map(ToString::to_string),
        time: evidence.time.map(|time| time.to_string()),
        text: plain(&evidence.text),
    }
}

fn discounted(discounted: &attribute::Discounted) -> Discounted {
    let Evidence { code, node, time, text } = evidence(&discounted.evidence);
    Discounted { code, node, time, text, count: discounted.count, why: discounted.why.clone() }
}

/// Most characters of a quoted line.
const WIDTH: usize = 400;

/// What is quoted may come from a log that a user wrote: control characters, and those that are invisible or change the
/// direction, are shown as escapes, so that no terminal obeys them.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(WIDTH) + 8);
    for (index, c) in text.trim_end().chars().enumerate() {
        if index >= WIDTH {
            out.push('…');
            break;
        }
        match c {
            '\t' => out.push(' '),
            c if c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}') =>
            {
                out.extend(c.escape_default());
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_escapes_are_shown_and_not_obeyed() {
        let shown = plain("\u{1b}[2J\u{9b}31m\u{202e}x\0");
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(!shown.contains('\u{202e}'));
    }
}
