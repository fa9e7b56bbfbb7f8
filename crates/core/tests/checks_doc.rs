//! docs/checks.md tells what the checks are. Its table is made from them: `TRIAGE_BLESS=1 cargo test -p triage-core --test
//! checks_doc` writes it anew.
use std::path::PathBuf;

use triage_core::checks::{ALL, Check};

const BEGIN: &str = "<!-- the table below is made from the checks themselves -->\n";
const END: &str = "<!-- end of the table -->\n";

fn words<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

fn seconds(seconds: i64) -> String {
    match seconds {
        0 => "at once".to_owned(),
        s if s % 3600 == 0 => format!("{} h", s / 3600),
        s if s % 60 == 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

fn row(check: &Check) -> String {
    let threshold = check.threshold.map_or_else(
        || "-".to_owned(),
        |threshold| format!("{} {} ({})", threshold.value, threshold.unit, threshold.source),
    );
    let bad = if check.bad_for_s > 0 {
        format!(" once bad for {}", seconds(check.bad_for_s))
    } else {
        String::new()
    };
    let good = if check.good_for_s > 0 {
        format!("good for {}", seconds(check.good_for_s))
    } else {
        "good once".to_owned()
    };
    format!(
        "| `{}` | {} | {} | {threshold} | {} | {}{bad} | {good} | {} |\n",
        check.name,
        check.finds,
        words(check.reads),
        check.class,
        check.action,
        words(check.at.iter().map(|place| place.word())),
    )
}

#[test]
fn the_document_tells_every_check_as_it_is() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/checks.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(BEGIN).expect("the table's begin is marked");
    let (told, after) = rest.split_once(END).expect("the table's end is marked");
    let head = "\n| check | finds | reads | threshold (source) | class | action | cleared once | runs in |\n|---|---|---|---|---|---|---|---|\n";
    let table = format!("{head}{}\n", ALL.iter().map(row).collect::<String>());
    if std::env::var_os("TRIAGE_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(
        told, table,
        "docs/checks.md differs from the checks; the head of this file says how to write it anew"
    );
}
