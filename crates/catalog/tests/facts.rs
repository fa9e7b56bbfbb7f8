//! Every code of the vendor's lists is described. The lists stand beside some checkouts (`../shared/signatures`);
//! without them the test is skipped.
use std::fs;
use std::path::Path;

use triage_catalog::embedded;
use triage_core::{Advice, CauseClass};

fn first_column(file: &str) -> Option<Vec<(String, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/signatures").join(file);
    let text = fs::read_to_string(path).ok()?;
    let rows = text.lines().skip(1).map(|line| line.split('\t'));
    Some(rows.filter_map(|mut row| Some((row.next()?.to_owned(), row.next()?.to_owned()))).collect())
}

fn all_described(prefix: &str, file: &str, at_least: usize) {
    let Some(rows) = first_column(file) else { return };
    assert!(rows.len() >= at_least, "{file} has only {} rows", rows.len());
    let catalog = embedded();
    for (number, name) in rows {
        let entry = catalog
            .entry(&format!("{prefix}.{number}"))
            .unwrap_or_else(|| panic!("{prefix} {number} is missing"));
        let same = name.split(" / ").any(|name| name == entry.name) || name.is_empty();
        assert!(same, "{prefix} {number} is {name}, not {}", entry.name);
    }
}

#[test]
fn every_xid_is_described_under_its_name() {
    all_described("xid", "xid.tsv", 170);
}

#[test]
fn every_sxid_is_described_under_its_name() {
    all_described("sxid", "sxid.tsv", 400);
}

#[test]
fn every_subcode_has_its_row() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/signatures/xid_nvlink5_subcodes.tsv");
    let Ok(text) = fs::read_to_string(path) else { return };
    let catalog = embedded();
    for line in text.lines().skip(1) {
        let column: Vec<&str> = line.split('\t').collect();
        let status = u32::from_str_radix(column[5].trim_start_matches("0x"), 16).unwrap();
        let row = catalog.parts().nvlink5.iter().find(|row| {
            row.xid.to_string() == column[0]
                && row.unit == column[1]
                && row.subcode.to_string() == column[2]
                && row.before_r575 == column[3]
                && row.since_r575 == column[4]
                && row.error_status == status
        });
        let row = row.unwrap_or_else(|| panic!("no row for {line}"));
        let wants_reset = row.change.action == Some(Advice::Reset);
        assert_eq!(wants_reset, column[6] == "RESET_GPU", "{line}");
    }
}

#[test]
fn a_number_nobody_knows_is_unknown_and_asks_for_nothing() {
    let catalog = embedded();
    for code in ["xid.unknown", "sxid.unknown"] {
        let entry = catalog.entry(code).unwrap();
        assert_eq!((entry.class, entry.action), (CauseClass::Unknown, Advice::None));
    }
    assert!(catalog.entry("xid.4242").is_none());
}
