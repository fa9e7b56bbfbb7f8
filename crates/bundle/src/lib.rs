//! Incident bundles: one folder holds everything known of one run of one job. docs/attribution.md describes the format.
//!
//! [`read`] brings a bundle into the core's types, [`diagnose`] attributes it and says what the default policy would do.
//! A bundle may come from anywhere: nothing in it is followed out of its folder, nothing but regular files is opened,
//! every read is bounded, and what could not be read is told.
mod decide;
mod error;
mod events;
mod files;
mod flight;
mod incident;
mod kernel;
mod output;
mod report;
mod states;
mod tasks;
mod write;

pub use error::Error;
pub use report::{Culprit, Discounted, Evidence, Report};
pub use write::{Content, OutputText, Redactor, WriteError, Written, write};

use std::path::Path;

use triage_core::attribute::{Attribution, JobEvidence, NodeEvidence, attribute};
use triage_core::catalog::Catalog;
use triage_core::policy::Policy;

pub use decide::Decision;
pub use incident::JobRules;

/// A bundle as read.
#[derive(Debug)]
pub struct Bundle {
    /// What is known of the run.
    pub evidence: JobEvidence,
    /// What Slurm and the job allow to be done with the job.
    pub rules: JobRules,
}

/// Reads the bundle in `folder`.
///
/// # Errors
/// When there is no usable `incident.toml`. Anything else that is missing or broken is told in the evidence.
pub fn read(folder: &Path, catalog: &Catalog) -> Result<Bundle, Error> {
    let incident = incident::read(folder)?;
    let blind = incident.blind.clone();
    let mut evidence = JobEvidence { run: incident.run.clone(), blind, ..JobEvidence::default() };
    for node in &incident.nodes {
        evidence.nodes.push(read_node(folder, &incident, node, catalog));
    }
    evidence.output = output::read(folder, &incident, catalog, &mut evidence.blind);
    evidence.flight = flight::read(folder, &mut evidence.blind);
    evidence.history = states::history(folder, &mut evidence.blind);
    evidence.history_of = incident.history_of.clone();
    Ok(Bundle { evidence, rules: incident.rules })
}

fn read_node(
    folder: &Path,
    incident: &incident::Incident,
    node: &incident::Node,
    catalog: &Catalog,
) -> NodeEvidence {
    let mut what = NodeEvidence {
        node: node.name.clone(),
        boot: node.boot,
        addresses: node.addresses.clone(),
        told_only: node.told_only,
        beside: node.beside.clone(),
        blind: node.blind.clone().unwrap_or_default(),
        ..NodeEvidence::default()
    };
    let place = folder.join("nodes").join(node.name.as_str());
    let is_there = |name: &str| node.blind.is_none() || place.join(name).exists();
    if is_there("kernel.log") {
        kernel::read(&place, incident, &mut what, catalog);
    }
    if is_there("tasks.jsonl") {
        tasks::read(&place, incident, &mut what);
    }
    events::read(&place, &mut what);
    states::gpus(&place, &mut what);
    states::nvml(&place, &mut what);
    states::nics(&place, &mut what);
    what.kernel_read = node.kernel_read.unwrap_or(what.kernel_read);
    what
}

/// Reads the bundle in `folder`, attributes it, and says what `policy` would do in act mode.
///
/// # Errors
/// As [`read`].
pub fn diagnose_with(folder: &Path, catalog: &Catalog, policy: &Policy) -> Result<Report, Error> {
    Ok(explain(&read(folder, catalog)?, catalog, policy))
}

/// Attributes what is known of a run, and says what `policy` would do in act mode.
pub fn explain(bundle: &Bundle, catalog: &Catalog, policy: &Policy) -> Report {
    let attribution: Attribution = attribute(&bundle.evidence);
    let decision = decide::decide(&attribution, bundle, catalog, policy);
    report::report(attribution, decision)
}

/// Reads the bundle in `folder`, attributes it, and says what the policy as shipped would do in act mode.
///
/// # Errors
/// As [`read`].
pub fn diagnose(folder: &Path, catalog: &Catalog) -> Result<Report, Error> {
    diagnose_with(folder, catalog, &Policy::default())
}
