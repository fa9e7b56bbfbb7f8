//! The compiled catalogue: what codes mean and how lines are recognised.
//!
//! The data lives in `crates/catalog`; this module knows the types and answers questions. [`Catalog`] is cheap to
//! make: it stays packed, and what a line needs of it is unpacked and compiled when one first does.
mod built_in;
mod entry;
mod family;
pub mod nvlink5;
mod packed;
mod pattern;
mod table;

pub use built_in::BuiltIn;
pub use entry::{Change, Entry, Scope, Text};
pub use family::{Decoder, Family, Origin, Variant};
pub use packed::{Fields, Packed, Record};
pub use pattern::Pattern;
pub use table::Table;

use crate::arrange::Gather as _;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::classify::Prefilter;

/// What the catalogue is made of.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// Entries built into the program.
    pub table: Table,
    /// Entries a site changed or added, by code.
    pub site: BTreeMap<String, Entry>,
    /// Families, the first that matches wins.
    pub families: Packed<Family>,
    /// Wordings that change a meaning, the first of an owner that matches wins.
    pub variants: Packed<Variant>,
    /// Sub-codes of Xid 144 to 150.
    pub nvlink5: Packed<nvlink5::Row>,
    /// For each origin, literals of which every tag of the shipped families holds one; none: the tags themselves.
    pub anchors: [&'static [&'static str]; Origin::ALL.len()],
    /// Tags of a site's families.
    pub site_tags: Vec<Text>,
}

/// The compiled catalogue. The default one is empty: nothing has a meaning.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(crate) parts: Parts,
    prefilters: [OnceLock<Prefilter>; Origin::ALL.len()],
}

impl Catalog {
    /// From its parts.
    pub fn new(parts: Parts) -> Self {
        Self { parts, prefilters: Default::default() }
    }

    /// The entry of a code, a site's one before the one shipped.
    pub fn entry(&self, code: &str) -> Option<Entry> {
        self.parts.site.get(code).cloned().or_else(|| self.parts.table.get(code))
    }

    /// The fault a code is evidence of; a code without an entry is a fault of its own.
    pub fn fault_of(&self, code: &str) -> String {
        self.entry(code).map_or_else(|| code.to_owned(), |entry| entry.fault.into_owned())
    }

    /// Every entry, by code.
    pub fn entries(&self) -> Vec<Entry> {
        let mut all: BTreeMap<String, Entry> =
            self.parts.table.entries().map(|entry| (entry.code.to_string(), entry)).into_map();
        all.extend(self.parts.site.iter().map(|(code, entry)| (code.clone(), entry.clone())));
        all.into_values().collect()
    }

    /// The families, in the order they are tried.
    pub fn families(&self) -> &[Family] {
        &self.parts.families
    }

    /// The parts, to make a changed catalogue from.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// What tells a line without meaning from one that may have some.
    pub(crate) fn prefilter(&self, origin: Origin) -> &Prefilter {
        let slot = &self.prefilters[origin as usize];
        slot.get_or_init(|| Prefilter::new(&self.parts, origin))
    }
}

impl Clone for Catalog {
    /// The copy makes its own prefilters when it needs them.
    fn clone(&self) -> Self {
        Self::new(self.parts.clone())
    }
}
