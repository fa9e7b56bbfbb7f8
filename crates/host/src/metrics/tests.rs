//! The text as Prometheus reads it, and the file as another user finds it.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::*;

type Labels = Vec<(String, String)>;

/// One sample as the format's grammar has it: name, labels, value; `None` for a line that is none.
fn sample(line: &str) -> Option<(String, Labels, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"")?;
            let mut value = String::new();
            let mut chars = after.char_indices();
            let end = loop {
                match chars.next()? {
                    (at, '"') => break at,
                    (_, '\\') => match chars.next()?.1 {
                        'n' => value.push('\n'),
                        c @ ('\\' | '"') => value.push(c),
                        _ => return None,
                    },
                    (_, c) => value.push(c),
                }
            };
            labels.push((label.to_owned(), value));
            rest = &after[end + 1..];
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            rest = rest.strip_prefix(',')?;
        }
    }
    let value = match rest.strip_prefix(' ')? {
        "NaN" => f64::NAN,
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        number => number.parse().ok()?,
    };
    Some((name.to_owned(), labels, value))
}

#[test]
fn a_name_is_introduced_once_and_its_samples_follow() {
    let mut all = Exposition::default();
    let case = |class: &str, code: &str, n| ([class.to_owned(), code.to_owned()], n);
    all.gauge("t_cases", "Open cases.", ["class", "code"], [case("hardware", "xid.79", 1.0)]);
    all.value("t_up", "It worked.", 1.0);
    all.gauge("t_none", "Nothing.", ["a"], []);
    assert_eq!(
        all.text(),
        "# HELP t_cases Open cases.\n# TYPE t_cases gauge\nt_cases{class=\"hardware\",code=\"xid.79\"} 1\n\
         # HELP t_up It worked.\n# TYPE t_up gauge\nt_up 1\n"
    );
}

#[test]
fn figures_that_are_no_numbers_have_the_formats_own_words() {
    let told = |value: f64| {
        let mut all = Exposition::default();
        all.value("t", "h", value);
        all.text().lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(told), ["t NaN", "t +Inf", "t -Inf"]);
    assert_eq!([0.25, 1_785_000_000.0].map(told), ["t 0.25", "t 1785000000"]);
}

#[test]
fn a_stranger_cannot_fill_the_servers_memory() {
    let mut all = Exposition::default();
    all.gauge("t", "h", ["code"], (0..2_000).map(|n| ([format!("{n}{}", "x".repeat(4_000))], 1.0)));
    assert_eq!((all.text().lines().count(), all.left_out()), (2 + MAX_SAMPLES, 2_000 - MAX_SAMPLES as u64));
    assert!(all.text().len() < 200 * MAX_SAMPLES + 64 * MAX_SAMPLES);
}

proptest! {
    #[test]
    fn whatever_a_label_says_it_stays_one_label_of_one_line(
        first in "(\\PC|[\\\\\"\n\r\0{},= ]){0,40}",
        second in any::<String>(),
        value in any::<f64>(),
    ) {
        let mut all = Exposition::default();
        all.gauge("t_x", &first, ["a", "b"], [([first.clone(), second.clone()], value)]);
        let lines: Vec<&str> = all.text().split_terminator('\n').collect();
        prop_assert_eq!(lines.len(), 3, "{:?}", all.text());
        let (name, labels, read) = sample(lines[2]).expect("a sample");
        prop_assert_eq!((name.as_str(), labels.len()), ("t_x", 2));
        prop_assert!(read.to_bits() == value.to_bits() || (read.is_nan() && value.is_nan()));
        let plain = |text: &str| -> String {
            let cut = text.chars().take(MAX_LABEL);
            cut.map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
        };
        prop_assert_eq!(&labels[0].1, &plain(&first));
        prop_assert_eq!(&labels[1].1, &plain(&second));
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn the_file_is_whole_readable_by_others_and_alone_in_its_folder() {
    let folder = folder();
    let path = folder.path().join("slurm_triage.prom");
    for text in ["t 1\n", "t 2\n"] {
        write(&path, text).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o644);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_link_that_another_user_put_there_is_replaced_and_not_followed() {
    let folder = folder();
    let path = folder.path().join("slurm_triage.prom");
    let precious = folder.path().join("shadow");
    fs::write(&precious, "root:*\n").unwrap();
    symlink(&precious, &path).unwrap();
    symlink(&precious, folder.path().join(".slurm_triage.prom.new")).unwrap();
    write(&path, "t 1\n").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "root:*\n");
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(fs::read_to_string(&path).unwrap(), "t 1\n");
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one_and_no_litter() {
    let folder = folder();
    let missing = folder.path().join("nowhere/slurm_triage.prom");
    let told = write(&missing, "t 1\n").unwrap_err().to_string();
    assert!(told.contains("nowhere/slurm_triage.prom") && told.contains("is its folder there"), "{told}");
    // A folder in its place cannot be replaced by a file.
    let taken = folder.path().join("taken.prom");
    fs::create_dir_all(taken.join("inside")).unwrap();
    assert!(write(&taken, "t 1\n").is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    assert!(taken.join("inside").is_dir());
}
