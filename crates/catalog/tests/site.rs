//! A site's own files: what they may change, and what is refused with which words.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;
use triage_catalog::{Error, embedded, load};
use triage_core::catalog::{Catalog, Origin};
use triage_core::{Advice, CauseClass};

fn site(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn loaded(files: &[(&str, &str)]) -> Result<Catalog, Error> {
    let folder = site(files);
    load(Some(folder.path()))
}

/// The message for a file `10.toml` with this text, its path cut off.
fn refused(text: &str) -> String {
    let folder = site(&[("10.toml", text)]);
    let message = load(Some(folder.path())).unwrap_err().to_string();
    message.replace(&format!("{}/", folder.path().display()), "")
}

const NEW_CODE: &str = r#"
[[code]]
code = "site.psu"
name = "POWER_SUPPLY"
class = "hardware"
role = "root"
action = "drain"
description = "A power supply of the node failed."
remedy = "Replace it."
source = "site manual 3"
"#;

const NEW_FAMILY: &str = r#"
[[family]]
id = "site.psu"
sources = ["kernel"]
tags = ["psu_monitor:"]
pattern = '^psu_monitor: supply (?P<supply>\d+) failed'
code = "site.psu"

[[family.sample]]
line = "psu_monitor: supply 2 failed"
code = "site.psu"
resource = "host"
fields = { supply = "2" }
"#;

#[test]
fn a_folder_that_is_not_there_changes_nothing() {
    let catalog = load(Some(Path::new("/nowhere/catalog.d"))).unwrap();
    assert_eq!(catalog.entries(), embedded().entries());
    assert_eq!(catalog.families(), load(None).unwrap().families());
}

#[test]
fn a_site_changes_what_it_names_and_nothing_else() {
    let text = "[[code]]\ncode = \"xid.94\"\naction = \"drain\"\nreason = \"we replace such boards\"\n";
    let catalog = loaded(&[("10.toml", text)]).unwrap();
    let (old, new) = (embedded().entry("xid.94").unwrap(), catalog.entry("xid.94").unwrap());
    assert_eq!(new.action, Advice::Drain);
    assert_eq!(new.reason, "we replace such boards");
    assert_eq!((new.class, new.role, &new.description), (old.class, old.role, &old.description));
    let line = b"NVRM: Xid (PCI:0000:61:00): 94, pid=1, Contained: SM (0x1). RST: No, D-RST: No";
    assert_eq!(catalog.read(Origin::Kernel, line).unwrap().action, Advice::Drain);
    assert_eq!(catalog.entries().len(), embedded().entries().len());
}

#[test]
fn the_last_file_by_name_wins() {
    let change =
        |action: &str| format!("[[code]]\ncode = \"xid.94\"\naction = \"{action}\"\nreason = \"r\"\n");
    let catalog = loaded(&[("20-b.toml", &change("watch")), ("10-a.toml", &change("drain"))]).unwrap();
    assert_eq!(catalog.entry("xid.94").unwrap().action, Advice::Watch);
}

#[test]
fn other_files_in_the_folder_are_left_alone() {
    assert!(loaded(&[("10.toml.bak", "not toml ["), ("README", "[[[")]).is_ok());
}

#[test]
fn a_new_family_with_a_new_code_recognises_its_line_even_from_an_earlier_file() {
    let catalog = loaded(&[("10.toml", NEW_FAMILY), ("20.toml", NEW_CODE)]).unwrap();
    let meaning = catalog.read(Origin::Kernel, b"psu_monitor: supply 2 failed").unwrap();
    assert_eq!((meaning.code.as_str(), meaning.class), ("site.psu", CauseClass::Hardware));
    let log = b"[1.0] usb 1-1: new device\n[2.0] psu_monitor: supply 1 failed\n";
    let mut hits = 0;
    catalog.for_each_hit(Origin::Kernel, log, |_| hits += 1);
    assert_eq!(hits, 1, "the prefilter does not know the site's tag");
}

#[test]
fn a_family_can_be_taken_out_with_a_reason() {
    let text = "[[family]]\nid = \"nvidia.sxid\"\nenabled = false\nreason = \"our switches are watched elsewhere\"\n";
    let catalog = loaded(&[("10.toml", text)]).unwrap();
    assert!(
        catalog
            .read(Origin::Kernel, b"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 x")
            .is_none()
    );
}

#[test]
fn a_site_family_is_tried_before_the_shipped_ones() {
    let text = format!(
        "{NEW_CODE}{}",
        NEW_FAMILY
            .replace("psu_monitor:\"]", "NVRM: Xid\"]")
            .replace(r"^psu_monitor: supply (?P<supply>\d+) failed", r"^NVRM: Xid \(x\): (?P<supply>\d)")
            .replace("psu_monitor: supply 2 failed", "NVRM: Xid (x): 2")
    );
    loaded(&[("10.toml", &text)]).unwrap();
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_remedy() {
    let with_when = "[[code]]\ncode = \"xid.79\"\nreason = \"r\"\n\n[[code.when]]\ntext = '('\n";
    for (text, place, words) in [
        ("[[code]]\ncode = \"xid.79\"\naction = \"drain\"\n", "10.toml:1:1: ", "add reason"),
        ("[[code]]\ncode = \"xid.79\"\naction = \"drain\"\nreason = \" \"\n", "10.toml:1:1: ", "add reason"),
        (
            "\n[[code]]\ncode = \"site.x\"\nname = \"X\"\n",
            "10.toml:2:1: ",
            "no class, role, action, description, remedy, source",
        ),
        (
            "[[code]]\ncode = \"xid.79\"\nreason = \"r\"\ncolour = \"red\"\n",
            "10.toml:4:1: ",
            "unknown field `colour`",
        ),
        (
            "[[code]]\ncode = \"xid.79\"\nreason = \"r\"\naction = \"drian\"\n",
            "10.toml:4:10: ",
            "unknown variant `drian`",
        ),
        ("[[code]]\ncode = \n", "10.toml:2:", "docs/catalog.md"),
        (with_when, "10.toml:6:8: ", "does not compile"),
        ("[[code]]\ncode = \"xid.79\"\nreason = \"a\\nb\"\n", "10.toml:1:1: ", "control character"),
        ("[[family]]\nid = \"nvidia.xid\"\nenabled = false\n", "10.toml:1:1: ", "add reason"),
        (
            "[[nvlink5]]\nxid = 145\nunit = \"X\"\nsubcode = 0\nbefore_r575 = \"\"\nsince_r575 = \"\"\nerror_status = 0\nseverity = \"\"\nnote = \"\"\n",
            "10.toml:1:1: ",
            "instead",
        ),
        ("[anchors]\nkernel = [\"x\"]\n", "10.toml:1:1: ", "belongs to the shipped data"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(place), "{message}\nwanted {place}");
        assert!(message.contains(words), "{message}\nwanted {words}");
    }
}

#[test]
fn a_family_that_cannot_work_is_refused_when_it_is_loaded() {
    let family = |from: &str, to: &str| refused(&format!("{NEW_CODE}{}", NEW_FAMILY.replace(from, to)));
    for (from, to, words) in [
        (r"(?P<supply>\d+)", r"(?P<supply>\d+", "does not compile"),
        (r"(?P<supply>\d+)", r"(?=x)", "look-around"),
        ("psu_monitor:\"]", "psu\"]", "longer literal"),
        ("sources = [\"kernel\"]\n", "", "no sources"),
        ("code = \"site.psu\"\n\n", "code = \"site.unit\"\n\n", "has no entry"),
        ("line = \"psu_monitor: supply 2 failed\"", "line = \"supply 2 failed\"", "recognised by nothing"),
        (
            "line = \"psu_monitor: supply 2 failed\"",
            "line = \"NVRM: Xid (PCI:0000:61:00): 79, x\"",
            "recognised by \"nvidia.xid\"",
        ),
        ("supply = \"2\"", "supply = \"3\"", "field supply is \"2\", not \"3\""),
        ("resource = \"host\"", "resource = \"gpu:1\"", "resource is \"host\", not \"gpu:1\""),
    ] {
        let message = family(from, to);
        assert!(message.contains(words), "{message}\nwanted {words}");
    }
    let no_sample = refused(&format!("{NEW_CODE}{}", NEW_FAMILY.split("[[family.sample]]").next().unwrap()));
    assert!(no_sample.contains("has no sample"), "{no_sample}");
}

#[test]
fn a_file_that_is_no_file_or_too_large_is_refused_at_once() {
    let folder = site(&[("10.toml", &"# x\n".repeat(400_000))]);
    assert!(load(Some(folder.path())).unwrap_err().to_string().contains("larger than"));
    let folder = site(&[]);
    fs::create_dir(folder.path().join("10.toml")).unwrap();
    assert!(matches!(load(Some(folder.path())), Err(Error::Read { .. })));
    let folder = site(&[]);
    fs::write(folder.path().join("10.toml"), b"# \xff\xfe\n").unwrap();
    assert!(matches!(load(Some(folder.path())), Err(Error::Read { .. })));
}

proptest! {
    /// Whatever an editor leaves behind: a catalogue or one message with the file's name, never a panic.
    #[test]
    fn a_mangled_file_is_refused_in_one_line(cut in 0usize..900, junk in "[\\[\\]\"'a-z=.\n\\\\{}()?P<>é\0]{0,12}", keep in 0usize..900) {
        let whole = format!("{NEW_CODE}{NEW_FAMILY}");
        let head = &whole[..whole.floor_char_boundary(cut)];
        let tail = &whole[whole.floor_char_boundary(keep)..];
        if let Err(error) = loaded(&[("10.toml", &format!("{head}{junk}{tail}"))]) {
            let message = error.to_string();
            prop_assert!(message.contains("10.toml"), "{}", message);
            prop_assert!(!message.contains('\n'), "{}", message);
        }
    }
}
