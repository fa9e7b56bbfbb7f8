//! What a code means, in the catalogue's words.
use serde::Serialize;
use triage_core::catalog::{Catalog, Entry};

/// What a code means, in the catalogue's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CodeView {
    /// The code.
    pub(crate) code: String,
    /// Short name; the vendor's mnemonic where it has one.
    pub(crate) name: String,
    /// What happened.
    pub(crate) description: String,
    /// What it means for the job and the node.
    pub(crate) impact: String,
    /// What a person should do.
    pub(crate) remedy: String,
    /// Where the facts come from.
    pub(crate) source: String,
    /// Why the site changed the entry; empty for one as shipped.
    pub(crate) reason: String,
}

impl CodeView {
    /// The entries of these codes, each once, in their order. A code without an entry is left out.
    pub(crate) fn of<'a>(catalog: &Catalog, codes: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut views: Vec<Self> = Vec::new();
        for code in codes {
            if views.iter().all(|view| view.code != code) {
                views.extend(catalog.entry(code).map(Self::from));
            }
        }
        views
    }
}

impl From<Entry> for CodeView {
    fn from(entry: Entry) -> Self {
        Self {
            code: entry.code.into_owned(),
            name: entry.name.into_owned(),
            description: entry.description.into_owned(),
            impact: entry.impact.into_owned(),
            remedy: entry.remedy.into_owned(),
            source: entry.source.into_owned(),
            reason: entry.reason.into_owned(),
        }
    }
}
