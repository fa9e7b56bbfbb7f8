//! Agreement with labelled lines, where a checkout has them beside it (`../shared/signatures`); skipped elsewhere.
use std::fs;
use std::path::Path;

use triage_catalog::embedded;
use triage_core::catalog::{Catalog, Origin};
use triage_core::classify::{Meaning, prefix};
use triage_core::{Advice, CauseClass, Role};

/// How many of them must agree.
const WANTED: f64 = 0.98;

struct Labelled {
    line: String,
    class: String,
    role: String,
    note: String,
}

fn labelled(file: &str) -> Option<Vec<Labelled>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/signatures").join(file);
    let text = fs::read_to_string(path).ok()?;
    let mut rows = text.lines().map(|line| line.split('\t').map(unquoted).collect::<Vec<String>>());
    let header = rows.next()?;
    let column = |name: &str| header.iter().position(|h| h == name);
    let (line, class, role, note) = (column("line")?, column("class")?, column("role")?, column("notes")?);
    let field = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
    Some(
        rows.map(|row| Labelled {
            line: field(&row, line),
            class: field(&row, class),
            role: field(&row, role),
            note: field(&row, note),
        })
        .collect(),
    )
}

fn unquoted(field: &str) -> String {
    match field.strip_prefix('"').and_then(|f| f.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => field.to_owned(),
    }
}

fn read(catalog: &Catalog, line: &str) -> Option<Meaning> {
    let peeled = prefix::peel(line.as_bytes());
    catalog.read(Origin::Kernel, peeled.text)
}

/// A line that must not fire may have an event, as long as the event asks for nothing.
fn agrees(label: &Labelled, meaning: Option<&Meaning>) -> bool {
    let Some(meaning) = meaning else {
        return label.class == "none";
    };
    if label.class == "none" {
        return meaning.class == CauseClass::None || matches!(meaning.action, Advice::None | Advice::Watch);
    }
    let role = match meaning.role {
        // The labels know no finer words.
        Role::Teardown => "symptom",
        other => other.word(),
    };
    meaning.class.word() == label.class && role == label.role
}

#[test]
fn labelled_kernel_lines_get_their_class_and_role() {
    let Some(labels) = labelled("kernel_lines.tsv") else { return };
    let only = std::env::var("ONLY").unwrap_or_default();
    let labels: Vec<Labelled> = labels.into_iter().filter(|label| label.line.contains(&only)).collect();
    let catalog = embedded();
    let mut right = 0;
    for label in &labels {
        let meaning = read(&catalog, &label.line);
        if agrees(label, meaning.as_ref()) {
            right += 1;
            continue;
        }
        let found = meaning
            .map_or("nothing".to_owned(), |m| format!("{} {} {} {}", m.code, m.class, m.role, m.action));
        println!(
            "{}\n    wanted {} {}; got {found}\n    {}",
            label.line, label.class, label.role, label.note
        );
    }
    let share = f64::from(right) / labels.len() as f64;
    println!("{right} of {} agree: {:.1} %", labels.len(), share * 100.0);
    assert!(share >= WANTED, "only {:.1} % agree", share * 100.0);
}
