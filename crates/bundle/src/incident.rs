//! `incident.toml`: the run, by Slurm's word.
use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use triage_core::attribute::RunFacts;
use triage_core::{ExitStatus, NodeName, Resource, Stamp};

use crate::{Error, files};

/// Largest `incident.toml`, bytes: some hundred bytes a node.
const LARGEST: u64 = 4 << 20;

/// Most nodes of one job.
const MOST_NODES: usize = 16_384;

#[derive(Deserialize)]
struct File {
    format: u32,
    job: Job,
    #[serde(default)]
    nodes: BTreeMap<String, FileNode>,
    #[serde(default)]
    blind: Vec<String>,
    #[serde(default)]
    output: Vec<FileOutput>,
}

/// A file out of which something was left.
#[derive(Deserialize)]
struct FileOutput {
    file: String,
    #[serde(default)]
    gaps: Vec<u64>,
}

#[derive(Deserialize)]
struct Job {
    id: String,
    #[serde(default)]
    user: String,
    nodes: Vec<NodeName>,
    start: Stamp,
    end: Option<Stamp>,
    #[serde(default)]
    state: String,
    exit: Option<String>,
    requeue: Option<bool>,
    #[serde(default)]
    restart_count: u32,
    ranks_per_node: Option<u32>,
    history_of: Option<NodeName>,
}

#[derive(Deserialize, Default)]
struct FileNode {
    boot: Option<Stamp>,
    #[serde(default)]
    addresses: Vec<String>,
    kernel_read: Option<bool>,
    #[serde(default)]
    told_only: bool,
    #[serde(default)]
    beside: Vec<Resource>,
    blind: Option<Vec<String>>,
}

/// The run and its nodes.
#[derive(Debug)]
pub(crate) struct Incident {
    pub(crate) run: RunFacts,
    pub(crate) rules: JobRules,
    pub(crate) nodes: Vec<Node>,
    /// What whoever wrote the bundle could not see of the job.
    pub(crate) blind: Vec<String>,
    /// Whose ledger the history is from.
    pub(crate) history_of: Option<NodeName>,
    /// Where something was left out of a file of the job's output.
    pub(crate) gaps: BTreeMap<String, Vec<u64>>,
}

/// What Slurm and the job allow to be done with the job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobRules {
    /// Slurm may requeue it; `None`: not known.
    pub requeue: Option<bool>,
}

/// A node of the job.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: NodeName,
    pub(crate) boot: Option<Stamp>,
    pub(crate) addresses: Vec<String>,
    /// Whether its kernel log was read, by the word of whoever wrote the bundle.
    pub(crate) kernel_read: Option<bool>,
    /// Only what it told of itself is known.
    pub(crate) told_only: bool,
    /// GPUs that the run did not have.
    pub(crate) beside: Vec<Resource>,
    /// What whoever wrote the bundle could not see of it; where that is said, a file that is missing is no news.
    pub(crate) blind: Option<Vec<String>>,
}

/// Most of each of these lists that is read.
const MOST: usize = 1024;

/// Reads `incident.toml`. Keys of later versions are passed over.
pub(crate) fn read(folder: &Path) -> Result<Incident, Error> {
    let path = folder.join("incident.toml");
    let unreadable = |source| Error::Unreadable { path: path.clone(), source };
    let bytes = files::read(&path, LARGEST).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| invalid(&path, "", 0, "not UTF-8 text".to_owned()))?;
    let read = triage_toml::read::<File>(&text);
    let file = read.map_err(|fault| invalid(&path, &text, fault.at, fault.message.replace('\n', " ")))?.value;
    check(&file).map_err(|problem| invalid(&path, &text, 0, problem))?;
    Ok(incident(file))
}

fn invalid(path: &Path, text: &str, at: usize, problem: String) -> Error {
    let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
    Error::Invalid { path: path.to_owned(), line, problem }
}

fn check(file: &File) -> Result<(), String> {
    if file.format != 1 {
        return Err(format!("format {} is not known here: this version reads format 1", file.format));
    }
    if file.job.nodes.is_empty() || file.job.nodes.len() > MOST_NODES {
        return Err(format!("the job has {} nodes: name 1 to {MOST_NODES}", file.job.nodes.len()));
    }
    // Names become folder names.
    if let Some(bad) = file.job.nodes.iter().find(|node| !node.is_safe()) {
        return Err(format!("\"{}\" is no node name", bad.as_str().escape_debug()));
    }
    Ok(())
}

fn incident(file: File) -> Incident {
    let File { job, mut nodes, mut blind, output, .. } = file;
    blind.truncate(MOST);
    let run = RunFacts {
        job: job.id,
        user: job.user,
        exit: job.exit.as_deref().and_then(exit_status),
        state: job.state,
        start: job.start,
        end: job.end,
        restart: job.restart_count,
        ranks_per_node: job.ranks_per_node.filter(|ranks| *ranks > 0),
    };
    let nodes = job
        .nodes
        .into_iter()
        .map(|name| {
            let known = nodes.remove(name.as_str()).unwrap_or_default();
            Node {
                name,
                boot: known.boot,
                addresses: known.addresses,
                kernel_read: known.kernel_read,
                told_only: known.told_only,
                beside: known.beside.into_iter().take(MOST).collect(),
                blind: known.blind.map(|blind| blind.into_iter().take(MOST).collect()),
            }
        })
        .collect();
    let gaps = output.into_iter().map(|output| (output.file, output.gaps)).collect();
    Incident { run, rules: JobRules { requeue: job.requeue }, nodes, blind, history_of: job.history_of, gaps }
}

/// `1:0`: exit code and signal, as sacct writes it. A code above 128 is a shell's word for a signal and stays a code.
fn exit_status(text: &str) -> Option<ExitStatus> {
    let (code, signal) = text.split_once(':').unwrap_or((text, "0"));
    match (code.trim().parse().ok()?, signal.trim().parse().ok()?) {
        (code, 0) => Some(ExitStatus::Exit(code)),
        (_, signal) => Some(ExitStatus::Signal(signal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurms_exit_word_is_read() {
        assert_eq!(exit_status("1:0"), Some(ExitStatus::Exit(1)));
        assert_eq!(exit_status("0:9"), Some(ExitStatus::Signal(9)));
        assert_eq!(exit_status("0:125"), Some(ExitStatus::Signal(125)));
        assert_eq!(exit_status("x"), None);
    }
}
