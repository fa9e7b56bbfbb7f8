//! Lines of job output against their labels, where a checkout has them beside it (`../shared/signatures`), and the
//! first look against the catalogue.
use std::fs;
use std::path::Path;

use triage_core::catalog::Origin;
use triage_core::joblog::{is_candidate, read_line};
use triage_core::{CauseClass, Role};

/// What the issue asks for.
const WANTED: f64 = 0.98;

fn unquoted(field: &str) -> String {
    match field.strip_prefix('"').and_then(|f| f.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => field.to_owned(),
    }
}

/// The labels know no finer words than these; a line that must not fire may have an event that says so.
fn agrees(class: &str, role: &str, found: Option<(CauseClass, Role)>) -> bool {
    let Some((found_class, found_role)) = found else { return class == "none" };
    if class == "none" {
        return found_class == CauseClass::None;
    }
    let found_role = match found_role {
        Role::Teardown => Role::Symptom,
        other => other,
    };
    found_class.word() == class && found_role.word() == role
}

#[test]
fn labelled_lines_mean_what_their_labels_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/signatures/job_lines.tsv");
    let Ok(text) = fs::read_to_string(path) else { return };
    let catalog = triage_catalog::embedded();
    let (mut all, mut right) = (0_u32, 0_u32);
    for row in text.lines().skip(1) {
        let column: Vec<String> = row.split('\t').map(unquoted).collect();
        let (line, class, role) = (&column[0], &column[1], &column[6]);
        let meaning = read_line(&catalog, line.as_bytes());
        let found = meaning.as_ref().map(|m| (m.class, m.role));
        all += 1;
        if agrees(class, role, found) {
            right += 1;
        } else {
            let code = meaning.map_or_else(|| "nothing".to_owned(), |m| m.code.to_string());
            println!("{class}/{role} but {code} {found:?}: {line}");
        }
    }
    assert!(f64::from(right) >= WANTED * f64::from(all), "{right} of {all}");
}

#[test]
fn every_literal_of_a_family_passes_the_first_look() {
    let catalog = triage_catalog::embedded();
    let blind: Vec<&str> = catalog
        .families()
        .iter()
        .filter(|family| family.sources.contains(&Origin::Job))
        .flat_map(|family| family.tags.iter().map(AsRef::as_ref))
        .filter(|tag: &&str| !is_candidate(tag.as_bytes()))
        .collect();
    assert!(blind.is_empty(), "add to joblog's gate: {blind:?}");
}
