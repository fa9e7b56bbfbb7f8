//! `slurm-triage policy check`: can it be used, and does everything in it have an effect.
use std::path::Path;

use serde::Serialize;
use triage_core::catalog::Catalog;
use triage_core::checks::SITE_CODE;
use triage_core::policy::{Policy, Rule};
use triage_core::{CauseClass, Intent, Mode, NodeName, Provenance, Stamp};
use triage_hooks::policy_file;
use triage_host::config::Config;

use super::{codes, odd};
use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page, counted};
use crate::site::Site;
use crate::view;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    path: &'a Path,
    /// There is such a file; without it the shipped rules hold.
    present: bool,
    usable: bool,
    error: Option<String>,
    rules: usize,
    warnings: Vec<String>,
}

pub(super) fn run(common: &Common, file: Option<&Path>) -> CmdResult {
    let site = Site::find(common)?;
    let path = file.unwrap_or(&site.config.paths.policy);
    let read = match file {
        Some(file) => policy_file::read_any(file),
        None => policy_file::load(path),
    };
    // What a fault of the file costs is only so for the one that holds.
    let holds = file.is_none_or(|file| file == site.config.paths.policy);
    let told = |error: policy_file::PolicyError| if holds { error.in_force() } else { error.to_string() };
    let (policy, error) = match read {
        Ok(policy) => (Some(policy), None),
        Err(error) => (None, Some(told(error))),
    };
    let mut warnings = policy.as_ref().map(|policy| warnings(policy, &site.catalog().0)).unwrap_or_default();
    let present = file.is_some() || path.exists();
    if !present && *path != Config::default().paths.policy {
        warnings.insert(
            0,
            "not there, though [paths] policy of triage.toml names it: until it is, the shipped rules hold, in monitor mode"
                .to_owned(),
        );
    }
    let well = error.is_none() && warnings.is_empty();
    if common.json {
        let rules = policy.as_ref().map_or(0, |policy| policy.rules.len());
        let (v, node, at) = (view::VERSION, &site.node, site.now);
        let usable = error.is_none();
        render::json(&Document { v, node, at, path, present, usable, error, rules, warnings })?;
    } else {
        let mut page = Page::default();
        if let Some(error) = &error {
            page.line(0, error);
        }
        for warning in &warnings {
            page.line(0, format_args!("{}: {warning}", path.display()));
        }
        match policy.filter(|_| well) {
            Some(policy) if present => {
                let rules = counted(policy.rules.len(), "rule");
                page.line(0, format_args!("{}: {rules}, nothing to complain about", path.display()));
            }
            Some(_) => page.line(
                0,
                format_args!("{}: not there; the shipped rules hold, in monitor mode", path.display()),
            ),
            None => {}
        }
        render::print(page.text())?;
    }
    Ok(if well { exit::OK } else { exit::FINDINGS })
}

/// What is in the file and never has an effect, one line each.
fn warnings(policy: &Policy, catalog: &Catalog) -> Vec<String> {
    let mut warnings = Vec::new();
    let codes = codes::all(catalog);
    let mut names: Vec<&str> = Vec::new();
    for (index, rule) in policy.rules.iter().enumerate() {
        let name = &rule.name;
        if names.contains(&name.as_str()) {
            warnings.push(format!(
                "two rules are called \"{name}\": decisions are told by the name, so give one another"
            ));
        }
        names.push(name);
        if let Some(earlier) = policy.rules.iter().take(index).find(|earlier| earlier.matches_everything()) {
            warnings.push(format!(
                "rule \"{name}\" is never reached: \"{}\" before it matches everything; move it up",
                earlier.name
            ));
        }
        warnings.extend(
            of_rule(policy, rule, (catalog, &codes))
                .into_iter()
                .map(|what| format!("rule \"{name}\": {what}")),
        );
    }
    if !policy.rules.iter().any(Rule::matches_everything) {
        warnings.push(
            "no rule matches what the others leave: it is noted; say so with a last rule of your own"
                .to_owned(),
        );
    }
    warnings.extend(odd::figures(policy));
    warnings
}

fn of_rule(policy: &Policy, rule: &Rule, (catalog, codes): (&Catalog, &[String])) -> Vec<String> {
    let mut warnings = Vec::new();
    for pattern in &rule.code {
        let text = pattern.as_str();
        if !text.starts_with(SITE_CODE) && !codes.iter().any(|code| pattern.matches(code)) {
            let meant = codes::meant(catalog, text).map(|meant| format!("; {meant}")).unwrap_or_default();
            warnings.push(format!("no code matches \"{text}\"{meant}"));
        }
    }
    warnings.extend(rule.resource.iter().filter_map(odd::resource));
    let acts = |intent| policy.mode.of(intent) == Mode::Act;
    if rule.mode == Some(Mode::Act) && !acts(rule.node) && !acts(rule.job) {
        warnings.push(
            "mode = \"act\" has no effect while [mode] says monitor: a rule can only be stricter".to_owned(),
        );
    }
    if rule.node == Intent::Down && acts(Intent::Down) && !acts(Intent::Drain) {
        warnings.push("never sets down: it goes by way of a drain, and [mode] drain says monitor".to_owned());
    }
    let drains = rule.node.takes_node_out();
    if drains && rule.evidence == Some(Provenance::User) {
        warnings.push("never drains: what a user can write does not reach a node".to_owned());
    }
    let harmless = |class: &CauseClass| matches!(class, CauseClass::Application | CauseClass::None);
    if drains && !rule.class.is_empty() && rule.class.iter().all(harmless) {
        warnings
            .push("drains for what a program did: such a fault asks for no drain, so it is noted".to_owned());
    }
    if drains && rule.confidence < policy.node.min_confidence {
        warnings.push(format!(
            "wants a drain from {} on, but [node] min_confidence holds it below {}",
            rule.confidence, policy.node.min_confidence
        ));
    }
    if matches!(rule.job, Intent::Requeue | Intent::RequeueHold)
        && rule.confidence < policy.job.min_confidence
    {
        warnings.push(format!(
            "wants a requeue from {} on, but [job] min_confidence holds it below {}",
            rule.confidence, policy.job.min_confidence
        ));
    }
    warnings
}
