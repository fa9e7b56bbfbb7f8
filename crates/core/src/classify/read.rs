//! One line: the family that recognises it, and what that makes of it.
use std::collections::BTreeMap;

use memchr::memmem;
use regex::bytes::{Captures, Regex};

use super::{capped, forged};
use crate::catalog::{Catalog, Change, Decoder, Entry, Family, Origin, Text, nvlink5};
use crate::{Advice, CauseClass, ClearedBy, Code, Confidence, PciAddress, Resource, Role};

/// What one line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// The family that recognised it.
    pub family: String,
    /// The code.
    pub code: Code,
    /// Kind of cause it points to.
    pub class: CauseClass,
    /// Part it plays.
    pub role: Role,
    /// What it suggests for its node.
    pub action: Advice,
    /// What it proves when its source is trusted.
    pub confidence: Confidence,
    /// What proves the fault gone.
    pub clears: ClearedBy,
    /// What it is about.
    pub resource: Resource,
    /// Named parts of the line. `pci` is in canonical form; parts the source calls unknown are left out.
    pub fields: Fields,
}

type Fields = BTreeMap<String, String>;

impl Catalog {
    /// What a line without its transport prefix means, if a family recognises it. Looks at the first
    /// [`LINE_CAP`](super::LINE_CAP) bytes.
    pub fn read(&self, origin: Origin, line: &[u8]) -> Option<Meaning> {
        let line = capped(line);
        if origin == Origin::Kernel && forged::is_worded_by_a_process(line) {
            return None;
        }
        let tried = self.prefilter(origin).families_in(self.families(), line);
        tried
            .into_iter()
            .filter_map(|index| self.families().get(index))
            .find_map(|family| self.try_family(family, line))
    }

    fn try_family(&self, family: &Family, line: &[u8]) -> Option<Meaning> {
        let needed = |literal: &Text| memmem::find(line, literal.as_bytes()).is_some();
        if !family.needs.is_empty() && !family.needs.iter().any(needed) {
            return None;
        }
        let regex = family.pattern.regex()?;
        let captures = regex.captures(line)?;
        let mut fields = named(regex, &captures);
        let code = expand(&family.code, &fields)?;
        let mut entry = match self.entry(&code) {
            Some(entry) => entry,
            None => self.entry(&family.otherwise)?,
        };
        let text = captures.name("text").map_or(line, |group| group.as_bytes());
        // The code's own wordings have the last word over those of the family.
        self.vary(&format!("@{}", family.id), text, &mut entry, &mut fields);
        self.vary(&code, text, &mut entry, &mut fields);
        if family.decode == Some(Decoder::Nvlink5) {
            self.decode_nvlink5(&code, &mut entry, &mut fields);
        }
        Some(meaning(family, code, &entry, fields))
    }

    /// Applies the owner's first variant whose wording is in the line.
    fn vary(&self, owner: &str, text: &[u8], entry: &mut Entry, fields: &mut Fields) {
        for variant in self.parts.variants.iter().filter(|variant| variant.owner == owner) {
            let Some(regex) = variant.pattern.regex() else { continue };
            let Some(captures) = regex.captures(text) else { continue };
            fields.extend(named(regex, &captures));
            explain(variant.change, &variant.note, entry, fields);
            return;
        }
    }

    fn decode_nvlink5(&self, code: &str, entry: &mut Entry, fields: &mut Fields) {
        let Some(xid) = code.strip_prefix("xid.").and_then(|number| number.parse().ok()) else { return };
        let word = |name: &str| u32::from_str_radix(fields.get(name)?, 16).ok();
        let (Some(intrinfo), Some(status)) = (word("intrinfo"), word("error_status")) else { return };
        let unit = fields.get("unit").map_or("", String::as_str);
        let Some(found) = nvlink5::decode(&self.parts.nvlink5, xid, unit, intrinfo, status) else { return };
        fields.insert("subcode".to_owned(), found.row.subcode.to_string());
        fields.insert("layout".to_owned(), if found.since_r575 { "r575" } else { "before_r575" }.to_owned());
        explain(found.row.change, &found.row.note, entry, fields);
    }
}

fn explain(change: Change, note: &str, entry: &mut Entry, fields: &mut Fields) {
    change.apply(entry);
    if !note.is_empty() {
        fields.insert("note".to_owned(), note.to_owned());
    }
}

fn meaning(family: &Family, code: String, entry: &Entry, fields: Fields) -> Meaning {
    Meaning {
        family: family.id.to_string(),
        code: Code::new(code),
        class: entry.class,
        role: entry.role,
        action: entry.action,
        confidence: entry.confidence,
        clears: entry.clears,
        resource: resource(family, &fields),
        fields,
    }
}

fn named(regex: &Regex, captures: &Captures<'_>) -> Fields {
    let names = regex.capture_names().flatten();
    let pairs = names.filter_map(|name| Some((name, captures.name(name)?.as_bytes())));
    pairs.filter_map(|(name, raw)| Some((name.to_owned(), value(name, raw)?))).collect()
}

/// The text of a group as a field; `None` when it says nothing.
fn value(name: &str, raw: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(raw);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\'');
    if text.is_empty() || text == "<unknown>" {
        return None;
    }
    Some(match name {
        "pci" => pci(text).map_or_else(|| text.to_owned(), |address| address.to_string()),
        "code" => decimal(text).to_owned(),
        _ => text.to_owned(),
    })
}

/// Drivers of the 2000s left the domain out and gave the bus four digits: `0003:00` is bus 3, device 0.
fn pci(text: &str) -> Option<PciAddress> {
    let text = text.strip_prefix("PCI:").unwrap_or(text);
    match text.split_once(':') {
        Some((bus, device)) if bus.len() == 4 && !device.contains(':') => {
            format!("{}:{device}", bus.strip_prefix("00")?).parse().ok()
        }
        _ => text.parse().ok(),
    }
}

/// Without leading zeros.
fn decimal(text: &str) -> &str {
    match text.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    }
}

/// The first template whose groups are all there and that names something.
fn resource(family: &Family, fields: &Fields) -> Resource {
    let named = family.resource.iter().filter_map(|template| expand(template, fields));
    named
        .map(|text| Resource::from(text.as_str()))
        .find(|r| !matches!(r, Resource::Other(_)))
        .unwrap_or(Resource::Host)
}

/// Fills `{group}` from the fields; `None` when one is missing.
fn expand(template: &str, fields: &Fields) -> Option<String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        out.push_str(before);
        out.push_str(fields.get(name)?);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}
