//! The recorded incidents beside some checkouts (`../shared/incidents`): every field that their `expected.toml` gives.
//! Without them the test is skipped; tests/scenarios.rs covers the rules everywhere.
#![expect(clippy::unwrap_used, reason = "a test whose input cannot be read has failed")]
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use triage_bundle::{Report, diagnose};
use triage_core::Confidence;

#[derive(Deserialize)]
struct Expected {
    class: Option<String>,
    culprits: Option<Vec<Named>>,
    drain: Option<Vec<String>>,
    job: Option<String>,
    min_confidence: Option<Confidence>,
    #[serde(default)]
    codes: Vec<String>,
}

#[derive(Deserialize)]
struct Named {
    node: String,
    resource: Option<String>,
}

fn incidents() -> Vec<PathBuf> {
    let root = std::env::var("TRIAGE_INCIDENTS").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/incidents"),
        PathBuf::from,
    );
    let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    all.retain(|path| path.join("expected.toml").is_file());
    all.sort();
    all
}

/// What of the report is not as expected.
fn differences(expected: &Expected, report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    if expected.class.as_ref().is_some_and(|class| *class != report.class) {
        wrong.push(format!("class {} instead of {:?}", report.class, expected.class));
    }
    if let Some(named) = &expected.culprits {
        let nodes = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        let want = nodes(named.iter().map(|c| c.node.as_str()).collect());
        let have = nodes(report.culprits.iter().map(|c| c.node.as_str()).collect());
        let part = |c: &Named| {
            c.resource.is_none()
                || report.culprits.iter().any(|r| r.node == c.node && r.resource == c.resource)
        };
        if want != have || !named.iter().all(part) {
            wrong.push(format!("culprits {:?}", report.culprits));
        }
    }
    if expected.drain.as_ref().is_some_and(|drain| *drain != report.drain) {
        wrong.push(format!("drain {:?}", report.drain));
    }
    if expected.job.as_ref().is_some_and(|job| *job != report.job) {
        wrong.push(format!("job {} instead of {:?}", report.job, expected.job));
    }
    if let Some(least) = expected.min_confidence
        && report.confidence.parse::<Confidence>().unwrap() < least
    {
        wrong.push(format!("only {}", report.confidence));
    }
    for code in &expected.codes {
        if !report.evidence.iter().any(|e| e.code == *code) {
            wrong.push(format!("{code} is not among the evidence"));
        }
    }
    wrong
}

#[test]
fn every_recorded_incident_is_told_as_its_owner_tells_it() {
    let catalog = triage_catalog::embedded();
    let mut failed = Vec::new();
    for path in incidents() {
        let expected: Expected =
            toml::from_str(&fs::read_to_string(path.join("expected.toml")).unwrap()).unwrap();
        let report = diagnose(&path, &catalog).unwrap();
        let wrong = differences(&expected, &report);
        if !wrong.is_empty() || std::env::var_os("TRIAGE_SHOW").is_some() {
            println!(
                "== {}: {}\n{}",
                path.display(),
                wrong.join("; "),
                serde_json::to_string_pretty(&report).unwrap()
            );
        }
        if !wrong.is_empty() {
            failed.push(format!("{}: {}", path.file_name().unwrap().to_string_lossy(), wrong.join("; ")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
