//! Packs `data/*.toml` so that nothing is parsed at run time: the entries into one text that
//! `triage_core::catalog::Table` searches in place; families, variants and sub-codes each into one that
//! `triage_core::catalog::Packed` unpacks when a line first needs it. All of them folded up by zlib.
//!
//! What is wrong with them is found by the crate's tests, which read the same files with the loader for site files and
//! compare.
#[path = "build/arrange.rs"]
mod arrange;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use arrange::{Weights, arrange};
use miniz_oxide::deflate::compress_to_vec_zlib;
use toml::{Table, Value};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Fields of a packed record, in the order `Table` reads them.
const RECORD: [&str; 14] = [
    "code",
    "name",
    "fault",
    "class",
    "role",
    "scope",
    "action",
    "confidence",
    "clears",
    "description",
    "response",
    "impact",
    "remedy",
    "source",
];
const UNIT_SEPARATOR: char = '\u{1f}';
/// After each record of a list, and between the items of a field that is a list.
const GROUP_SEPARATOR: char = '\u{1d}';
const RECORD_SEPARATOR: &str = "\u{1e}";

/// What the data files hold, in the forms the program wants.
#[derive(Default)]
struct Packed {
    records: BTreeMap<String, String>,
    families: Vec<String>,
    variants: Vec<String>,
    nvlink5: Vec<String>,
    anchors: BTreeMap<String, Vec<String>>,
    samples: Vec<String>,
}

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=data");
    let mut packed = Packed::default();
    for path in data_files()? {
        let text = fs::read_to_string(&path)?;
        let file: Table = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
        pack(&file, &mut packed).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    write(&packed, Path::new(&env::var("OUT_DIR")?))
}

fn data_files() -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir("data")?.map(|entry| entry.map(|e| e.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    Ok(files)
}

fn pack(file: &Table, packed: &mut Packed) -> Result<()> {
    let empty = Table::new();
    let defaults = file.get("defaults").and_then(Value::as_table).unwrap_or(&empty);
    for stanza in stanzas(file, "code") {
        let code = text(stanza, "code")?;
        let record: Vec<&str> =
            RECORD.iter().map(|key| field(stanza, defaults, code, key)).collect::<Result<_>>()?;
        if packed.records.insert(code.to_owned(), record.join(&UNIT_SEPARATOR.to_string())).is_some() {
            return Err(format!("{code} is described twice").into());
        }
        pack_variants(stanza, code, &mut packed.variants)?;
    }
    for stanza in stanzas(file, "family") {
        packed.families.push(family(stanza)?);
        for sample in stanzas(stanza, "sample") {
            packed.samples.push(text(sample, "line")?.to_owned());
        }
        pack_variants(stanza, &format!("@{}", text(stanza, "id")?), &mut packed.variants)?;
    }
    for (origin, anchors) in file.get("anchors").and_then(Value::as_table).into_iter().flatten() {
        let anchors = anchors.as_array().into_iter().flatten().filter_map(Value::as_str);
        packed.anchors.insert(origin.clone(), anchors.map(str::to_owned).collect());
    }
    for stanza in stanzas(file, "nvlink5") {
        packed.nvlink5.push(nvlink5(stanza)?);
    }
    Ok(())
}

fn field<'a>(stanza: &'a Table, defaults: &'a Table, code: &'a str, key: &str) -> Result<&'a str> {
    let value = stanza.get(key).or_else(|| defaults.get(key)).and_then(Value::as_str);
    // A code without a word on its fault is a fault of its own.
    let value = value.or((key == "fault").then_some(code));
    value.ok_or_else(|| format!("{code} has no {key}").into())
}

fn pack_variants(stanza: &Table, owner: &str, variants: &mut Vec<String>) -> Result<()> {
    for when in stanzas(stanza, "when") {
        let mut fields = vec![owner, text(when, "text")?];
        fields.extend(change(when));
        fields.push(text_or_none(when, "note"));
        variants.push(record(&fields)?);
    }
    Ok(())
}

/// In the order in which `Family::unpack` reads them.
fn family(stanza: &Table) -> Result<String> {
    let list = |key: &str| list(stanza, key).join(RECORD_SEPARATOR);
    record(&[
        text(stanza, "id")?,
        &list("sources"),
        &list("tags"),
        &list("needs"),
        text(stanza, "pattern")?,
        text(stanza, "code")?,
        text_or_none(stanza, "otherwise"),
        &list("resource"),
        text_or_none(stanza, "decode"),
    ])
}

/// In the order in which `Row::unpack` reads them.
fn nvlink5(stanza: &Table) -> Result<String> {
    let number = |key: &str| {
        let number = stanza.get(key).and_then(Value::as_integer);
        number.map(|number| number.to_string()).ok_or_else(|| format!("[[nvlink5]] has no {key}"))
    };
    let (xid, subcode, error_status) = (number("xid")?, number("subcode")?, number("error_status")?);
    let mut fields = vec![
        xid.as_str(),
        text(stanza, "unit")?,
        &subcode,
        text(stanza, "before_r575")?,
        text(stanza, "since_r575")?,
        &error_status,
        text(stanza, "severity")?,
    ];
    fields.extend(change(stanza));
    fields.push(text(stanza, "note")?);
    record(&fields)
}

/// In the order in which `Change::unpack` reads them.
fn change(stanza: &Table) -> [&str; 5] {
    ["class", "role", "action", "confidence", "clears"].map(|key| text_or_none(stanza, key))
}

fn record(fields: &[&str]) -> Result<String> {
    let separators = [UNIT_SEPARATOR, GROUP_SEPARATOR];
    match fields.iter().find(|field| field.contains(separators)) {
        Some(field) => Err(format!("a text holds a separator: {field:?}").into()),
        None => Ok(fields.join(&UNIT_SEPARATOR.to_string())),
    }
}

/// Keeps once what several records say: the records, with a place in the shared texts instead, and those texts.
fn share<'a>(records: impl Iterator<Item = &'a str> + Clone) -> (String, String) {
    /// A place is up to a dozen bytes.
    const WORTH_IT: usize = 16;
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    for field in records.clone().flat_map(|record| record.split('\u{1f}')) {
        *said.entry(field).or_default() += 1;
    }
    let mut shared = String::new();
    let mut places: BTreeMap<&str, String> = BTreeMap::new();
    for (field, _) in said.iter().filter(|(field, times)| **times > 1 && field.len() >= WORTH_IT) {
        places.insert(field, format!("\u{1e}{}+{}", shared.len(), field.len()));
        shared.push_str(field);
    }
    // The code is what is searched for: it stays where it is.
    let lines = records.map(|record| {
        let (code, rest) = record.split_once('\u{1f}').unwrap_or((record, ""));
        let rest = rest.split('\u{1f}').map(|field| places.get(field).map_or(field, String::as_str));
        format!("{code}\u{1f}{}\n", rest.collect::<Vec<_>>().join("\u{1f}"))
    });
    (lines.collect(), shared)
}

fn write(packed: &Packed, out: &Path) -> Result<()> {
    let (records, shared) = share(packed.records.values().map(String::as_str));
    fold(out, "entries", &records)?;
    fold(out, "shared", &shared)?;
    for (name, records) in
        [("families", &packed.families), ("variants", &packed.variants), ("nvlink5", &packed.nvlink5)]
    {
        let text: String = records.iter().map(|record| format!("{record}{GROUP_SEPARATOR}")).collect();
        fold(out, name, &text)?;
    }
    fs::write(out.join("anchors.rs"), anchors(packed))?;
    Ok(())
}

/// The text as the program holds it.
fn fold(out: &Path, name: &str, text: &str) -> Result<()> {
    /// The highest, 10, gains a hundredth more for four times the work.
    const LEVEL: u8 = 8;
    Ok(fs::write(out.join(name).with_extension("z"), compress_to_vec_zlib(text.as_bytes(), LEVEL))?)
}

/// One array for each origin; an origin without anchors has an empty one.
fn anchors(packed: &Packed) -> String {
    let weights = Weights::of(packed.samples.iter().map(String::as_str));
    let of = |origin: &str| arrange(packed.anchors.get(origin).cloned().unwrap_or_default(), &weights);
    let arms: Vec<String> = ["kernel", "job", "slurm"]
        .iter()
        .map(|origin| format!("anchors[Origin::{} as usize] = &{:?};", camel(origin), of(origin)))
        .collect();
    format!(
        "pub(crate) static ANCHORS: [&[&str]; Origin::ALL.len()] = {{\n    let mut anchors: [&[&str]; Origin::ALL.len()] = [&[]; Origin::ALL.len()];\n    {}\n    anchors\n}};\n",
        arms.join("\n    ")
    )
}

fn stanzas<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

fn text<'a>(table: &'a Table, key: &str) -> Result<&'a str> {
    let value = table.get(key).and_then(Value::as_str);
    value.ok_or_else(|| format!("a stanza has no {key}: {table}").into())
}

fn text_or_none<'a>(table: &'a Table, key: &str) -> &'a str {
    table.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(table: &'a Table, key: &str) -> Vec<&'a str> {
    table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn camel(word: &str) -> String {
    word.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}
