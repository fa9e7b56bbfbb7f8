//! `incident.toml` of a bundle that is written.
use std::collections::BTreeMap;

use serde::Serialize;
use triage_core::attribute::{JobEvidence, NodeEvidence};
use triage_core::{ExitStatus, NodeName, Resource, Stamp};

use super::Redactor;
use crate::JobRules;

#[derive(Serialize)]
struct File<'a> {
    format: u32,
    blind: Vec<String>,
    job: Job<'a>,
    nodes: BTreeMap<&'a str, Node<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    output: Vec<Listed>,
}

#[derive(Serialize)]
struct Job<'a> {
    id: &'a str,
    user: String,
    nodes: Vec<&'a str>,
    start: Stamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Stamp>,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requeue: Option<bool>,
    restart_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks_per_node: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_of: Option<&'a NodeName>,
}

#[derive(Serialize)]
struct Node<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    boot: Option<Stamp>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<String>,
    kernel_read: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    told_only: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    beside: &'a [Resource],
    blind: Vec<String>,
}

/// A file of the job's output out of which something was left.
#[derive(Serialize)]
pub(super) struct Listed {
    pub(super) file: String,
    /// Where, bytes from its beginning.
    pub(super) gaps: Vec<u64>,
}

pub(super) fn text(
    evidence: &JobEvidence,
    rules: JobRules,
    output: Vec<Listed>,
    mut redactor: Option<&mut Redactor<'_>>,
) -> Result<String, String> {
    let mut all = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| redactor.as_mut().map_or_else(|| line.clone(), |r| r.text(line))).collect()
    };
    let run = &evidence.run;
    let blind = all(&evidence.blind);
    let user = all(std::slice::from_ref(&run.user)).concat();
    let nodes = evidence.nodes.iter().map(|node| (node.node.as_str(), self::node(node, &mut all))).collect();
    let file = File {
        format: 1,
        blind,
        job: Job {
            id: &run.job,
            user,
            nodes: evidence.nodes.iter().map(|node| node.node.as_str()).collect(),
            start: run.start,
            end: run.end,
            state: &run.state,
            exit: run.exit.map(exit),
            requeue: rules.requeue,
            restart_count: run.restart,
            ranks_per_node: run.ranks_per_node,
            history_of: evidence.history_of.as_ref(),
        },
        nodes,
        output,
    };
    toml::to_string(&file).map_err(|error| error.to_string())
}

fn node<'a>(node: &'a NodeEvidence, all: &mut dyn FnMut(&[String]) -> Vec<String>) -> Node<'a> {
    Node {
        boot: node.boot,
        addresses: all(&node.addresses),
        kernel_read: node.kernel_read,
        told_only: node.told_only,
        beside: &node.beside,
        blind: all(&node.blind),
    }
}

/// Exit code and signal, as sacct writes them.
fn exit(status: ExitStatus) -> String {
    match status {
        ExitStatus::Exit(code) => format!("{code}:0"),
        ExitStatus::Signal(signal) => format!("0:{signal}"),
    }
}
