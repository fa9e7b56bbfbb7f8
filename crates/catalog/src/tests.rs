//! The packed catalogue and the data files are the same, and the files are right by their own samples.
use super::*;
use std::collections::{BTreeMap, BTreeSet};

use triage_core::catalog::nvlink5::{self, Row};
use triage_core::catalog::{Change, Family, Origin, Text};

/// The shipped files, in the order in which the loader would put them over one another.
fn data_files() -> Vec<Read> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    // Families of a later file go in front; the packed table has them in order of file names.
    let paths = site_files(&folder).unwrap();
    paths.iter().rev().map(|path| read(path).unwrap_or_else(|e| panic!("{e}"))).collect()
}

fn loaded() -> Catalog {
    let base = Parts { nvlink5: embedded::parts().nvlink5, ..Parts::default() };
    merged(&data_files(), base).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_sample_of_the_shipped_files_means_what_it_says() {
    let catalog = loaded();
    let files = data_files();
    let problem = |file: &Read| -> Vec<String> {
        sample::problems(&file.stanzas, &catalog).map(|fault| file.invalid(fault).to_string()).collect()
    };
    let problems: Vec<String> = files.iter().flat_map(problem).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn packed_entries_are_those_of_the_files() {
    let (packed, read) = (embedded().entries(), loaded().entries());
    assert_eq!(packed.len(), embedded::parts().table.len(), "a packed record does not read back");
    for (packed, read) in packed.iter().zip(&read) {
        assert_eq!(packed, read);
    }
    assert_eq!(packed.len(), read.len());
    for entry in &packed {
        assert_eq!(embedded().entry(&entry.code).as_ref(), Some(entry));
    }
}

#[test]
fn packed_families_and_variants_are_those_of_the_files() {
    let (packed, read) = (embedded(), loaded());
    assert_eq!(
        packed.families().len(),
        packed.parts().families.packed_len(),
        "a packed family does not read back"
    );
    assert_eq!(packed.parts().variants.len(), packed.parts().variants.packed_len());
    assert_eq!(packed.families(), read.families());
    let by_owner = |catalog: &Catalog| {
        let mut of: BTreeMap<Text, Vec<String>> = BTreeMap::new();
        for variant in catalog.parts().variants.iter() {
            of.entry(variant.owner.clone()).or_default().push(format!("{variant:?}"));
        }
        of
    };
    let without_cells = |text: String| text.split("regex:").next().unwrap_or_default().to_owned();
    let strip = |of: BTreeMap<Text, Vec<String>>| -> BTreeMap<Text, Vec<String>> {
        of.into_iter().map(|(owner, all)| (owner, all.into_iter().map(without_cells).collect())).collect()
    };
    assert_eq!(strip(by_owner(&packed)), strip(by_owner(&read)));
}

#[test]
fn packed_subcodes_are_those_of_the_files() {
    let files = data_files();
    let read: Vec<Row> =
        files.iter().flat_map(|file| &file.stanzas.nvlink5).map(|spanned| row(spanned.as_ref())).collect();
    assert_eq!(*embedded::parts().nvlink5, *read);
}

fn row(stanza: &file::Nvlink5) -> Row {
    Row {
        xid: stanza.xid,
        unit: stanza.unit.clone().into(),
        subcode: stanza.subcode,
        before_r575: stanza.before_r575.clone().into(),
        since_r575: stanza.since_r575.clone().into(),
        error_status: stanza.error_status,
        severity: stanza.severity.clone().into(),
        change: Change {
            class: stanza.class,
            role: stanza.role,
            action: stanza.action,
            confidence: stanza.confidence,
            clears: stanza.clears,
        },
        note: stanza.note.clone().into(),
    }
}

#[test]
fn every_packed_pattern_compiles_and_is_anchored() {
    let catalog = embedded();
    for family in catalog.families() {
        assert!(family.pattern.regex().is_some(), "{}", family.id);
        // A job's progress bar may stand before what matters, and nothing a job prints is trusted anyway.
        let of_a_job = family.sources.iter().all(|origin| *origin == Origin::Job);
        assert!(
            of_a_job || family.pattern.as_str().starts_with('^'),
            "{} would match in the middle of a line",
            family.id
        );
        assert!(family.tags.iter().all(|tag| tag.len() >= SHORTEST_TAG), "{}", family.id);
    }
    for variant in catalog.parts().variants.iter() {
        assert!(variant.pattern.regex().is_some(), "{}: {}", variant.owner, variant.pattern.as_str());
    }
}

/// A tag without an anchor would never be found in a scan.
#[test]
fn every_tag_holds_an_anchor() {
    let catalog = embedded();
    for origin in Origin::ALL {
        let anchors = catalog.parts().anchors[*origin as usize];
        assert!(anchors.len() <= 192, "{origin}: measure a fourth group of anchors first");
        assert!(anchors.iter().all(|anchor| anchor.len() >= SHORTEST_TAG));
        for family in catalog.families().iter().filter(|f| f.sources.contains(origin) && !anchors.is_empty())
        {
            for tag in family.tags.iter() {
                assert!(anchors.iter().any(|a| tag.contains(a)), "{}: \"{tag}\" holds no anchor", family.id);
            }
        }
        for anchor in anchors {
            let used = |family: &Family| family.tags.iter().any(|tag| tag.contains(anchor));
            assert!(catalog.families().iter().any(used), "no tag holds the anchor \"{anchor}\"");
        }
    }
}

#[test]
fn family_ids_are_unique_and_every_family_has_a_code_that_is_described() {
    let catalog = embedded();
    let ids: BTreeSet<&str> = catalog.families().iter().map(|f| f.id.as_ref()).collect();
    assert_eq!(ids.len(), catalog.families().len());
    for family in catalog.families() {
        let fixed = if family.code.contains('{') { &family.otherwise } else { &family.code };
        assert!(fixed.is_empty() || catalog.entry(fixed).is_some(), "{}", family.id);
    }
}

#[test]
fn every_entry_is_worded_for_an_operator() {
    for entry in embedded().entries() {
        for (what, text) in [
            ("name", &entry.name),
            ("description", &entry.description),
            ("response", &entry.response),
            ("impact", &entry.impact),
            ("remedy", &entry.remedy),
            ("source", &entry.source),
        ] {
            assert!(!text.trim().is_empty(), "{} has no {what}", entry.code);
            assert!(text.len() <= 400, "the {what} of {} is no short text", entry.code);
        }
        assert!(entry.description.ends_with('.'), "{}", entry.code);
    }
}

/// A class of `none` never asks for anything; what may be blamed and wants the node out has something that clears it.
#[test]
fn facts_of_an_entry_do_not_contradict_each_other() {
    use triage_core::{CauseClass, ClearedBy, Role};
    for entry in embedded().entries() {
        if entry.class == CauseClass::None {
            assert!(!entry.action.wants_node_out(), "{}", entry.code);
        }
        if matches!(entry.role, Role::Noise | Role::Recovery | Role::Teardown | Role::Context) {
            assert!(
                !entry.action.wants_node_out(),
                "{} is {} and wants the node out",
                entry.code,
                entry.role
            );
        }
        if entry.action.wants_node_out() {
            assert_ne!(entry.clears, ClearedBy::None, "{} could never be cleared", entry.code);
        }
    }
}

/// The layout of the registers is told by what fits: no word may fit rows of both layouts that disagree.
#[test]
fn both_layouts_of_a_subcode_are_never_mixed_up() {
    let parts = embedded::parts();
    let rows: &[Row] = &parts.nvlink5;
    let word = |pattern: &str| u32::from_str_radix(&pattern.replace('-', "0"), 2).unwrap();
    for row in rows {
        for (pattern, since) in [(&row.before_r575, false), (&row.since_r575, true)] {
            assert_eq!(pattern.len(), 32);
            let unit = row.unit.split('/').next().unwrap();
            let found = nvlink5::decode(rows, row.xid, unit, word(pattern), row.error_status).unwrap();
            // Before R575 both pipes of a unit had one number, and Xid 150 has one pattern on both sides.
            assert_eq!(found.row.change, row.change, "{pattern}");
            assert!(found.since_r575 == since || row.xid == 150, "{pattern}");
        }
    }
}

#[test]
fn unit_names_tell_rows_apart_even_where_bits_do_not() {
    let parts = embedded::parts();
    let rows: &[Row] = &parts.nvlink5;
    assert!(nvlink5::decode(rows, 145, "RLW_REMAP", 0b1000_0010, 1).is_some());
    assert!(nvlink5::decode(rows, 145, "RLW_SRC_TRACK", 0b1000_0010, 1).is_none());
    assert!(nvlink5::decode(rows, 145, "", 0b1000_0010, 1).is_some());
}

#[test]
fn sources_read_only_their_own_families() {
    let catalog = embedded();
    let line = b"NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.";
    assert!(catalog.read(Origin::Kernel, line).is_some());
    assert!(catalog.read(Origin::Job, line).is_none(), "a job's output would be taken for the kernel's log");
    assert!(catalog.read(Origin::Slurm, line).is_none());
}
