//! Many ledgers at once: those of a cluster's nodes, collected in one place, or this node's own.
mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use triage_core::arrange::Arrange as _;
use triage_core::arrange::Gather as _;

use serde::Serialize;
use triage_core::{Case, Decision, EventId, JobSpan, NodeName, Stamp, Verdict};
use triage_ledger::{Filter, IntentRow, Ledger, OpenOptions, Reading, Sighting};

use crate::site::{LEDGER_WAIT, Site};

/// Folders below a named one that are looked into for ledgers: `collected/n12/ledger.db`.
const DEPTH: usize = 3;

/// Most ledgers read by one call; a cluster has fewer nodes.
const MOST: usize = 20_000;

/// What one node's ledger knows.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) node: NodeName,
    pub(crate) events: Vec<(String, u64)>,
    pub(crate) cases: Vec<Case>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) actions: Vec<IntentRow>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) spans: Vec<JobSpan>,
    pub(crate) sightings: Vec<Sighting>,
    pub(crate) readings: Vec<Reading>,
    /// Fields of the cases' evidence that name the part: serial and UUID.
    pub(crate) parts: BTreeMap<EventId, PartName>,
    index: index::Index,
}

/// What an event says of the part it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PartName {
    pub(crate) serial: Option<String>,
    pub(crate) uuid: Option<String>,
}

/// A ledger that was asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Asked {
    /// The file.
    pub(crate) path: PathBuf,
    /// Whose it is; null where it could not be read.
    pub(crate) node: Option<NodeName>,
    /// Why it could not be read.
    pub(crate) error: Option<String>,
}

/// The ledgers asked for, and what those that could be read hold.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) asked: Vec<Asked>,
    pub(crate) all: Vec<Book>,
}

impl Books {
    /// Reads the ledgers at `paths`, each a file or a folder with files named `*.db` in it; without any, the node's own.
    /// One that cannot be read is told and spoils no other.
    ///
    /// # Errors
    /// When the node's own cannot be read, or nothing is found where ledgers were said to be.
    pub(crate) fn read(site: &Site, paths: &[PathBuf], since: Stamp) -> anyhow::Result<Self> {
        if paths.is_empty() {
            let book = Book::read(&site.open()?, Some(&site.node), since)?;
            let asked = Asked { path: site.ledger.clone(), node: Some(book.node.clone()), error: None };
            return Ok(Self { asked: vec![asked], all: vec![book] });
        }
        let files = files(paths);
        anyhow::ensure!(!files.is_empty(), "no ledger there: name files, or folders with *.db files in them");
        let mut books = Self { asked: Vec::new(), all: Vec::new() };
        for path in files {
            let opened = Ledger::open(&path, &OpenOptions::reader(LEDGER_WAIT, site.now));
            let read = opened.and_then(|ledger| Book::read(&ledger, None, since));
            let (node, error) = match read {
                Ok(book) => {
                    let node = book.node.clone();
                    books.all.push(book);
                    (Some(node), None)
                }
                Err(error) => (None, Some(why_not(error))),
            };
            books.asked.push(Asked { path, node, error });
        }
        books.all.arrange_by(|a, b| a.node.cmp(&b.node));
        Ok(books)
    }

    /// Ledgers that could not be read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &Asked> {
        self.asked.iter().filter(|asked| asked.error.is_some())
    }
}

impl Book {
    fn read(ledger: &Ledger, node: Option<&NodeName>, since: Stamp) -> Result<Self, triage_ledger::Error> {
        let real = Filter { synthetic: Some(false), ..Filter::default() };
        let lately = Filter { since: Some(since), ..real.clone() };
        let cases = ledger.cases(&lately)?;
        let node = match node {
            Some(node) => node.clone(),
            None => ledger.node()?.unwrap_or_default(),
        };
        let ids: BTreeSet<EventId> = cases.iter().flat_map(|case| case.events.iter().cloned()).into_set();
        let ids: Vec<EventId> = ids.into_iter().collect();
        let named = |fields: &BTreeMap<String, String>| PartName {
            serial: fields.get("serial").cloned(),
            uuid: fields.get("uuid").cloned(),
        };
        let parts = ledger.events_by_id(&ids)?.into_iter().map(|event| (event.id, named(&event.fields)));
        let mut book = Self {
            node,
            events: ledger.event_counts(since)?,
            decisions: ledger.decisions(&lately)?,
            actions: ledger.actions(&lately)?,
            verdicts: ledger.verdicts(&lately)?,
            spans: ledger.spans(&lately)?,
            sightings: ledger.sightings(&lately)?,
            readings: ledger.readings(64)?,
            parts: parts.filter(|(_, name)| *name != PartName::default()).into_map(),
            cases,
            index: index::Index::default(),
        };
        book.index = index::Index::of(&book);
        Ok(book)
    }

    /// The index under which Slurm and NVML know the GPU of this address, as the last sweep that saw it said.
    pub(crate) fn gpu_index(&self, resource: &triage_core::Resource) -> Option<u32> {
        match resource {
            triage_core::Resource::GpuIndex(index) => Some(*index),
            triage_core::Resource::Gpu(pci) => {
                let gpus = self.readings.iter().rev().flat_map(|reading| &reading.reading.gpus);
                gpus.into_iter().find(|gpu| gpu.pci == Some(*pci)).map(|gpu| gpu.index)
            }
            _ => None,
        }
    }

    /// GPUs of the node, as the last sweep counted them.
    pub(crate) fn gpu_count(&self) -> usize {
        self.readings.last().map_or(0, |reading| reading.reading.gpus.len())
    }
}

/// Why a ledger that somebody named cannot be read. It may be no node's own, so no hook sees to it.
fn why_not(error: triage_ledger::Error) -> String {
    match error {
        triage_ledger::Error::Missing { path } => format!("{}: there is no such file", path.display()),
        triage_ledger::Error::Corrupt { path, why } => {
            format!("{}: no ledger, or a damaged one: {why}", path.display())
        }
        error => error.to_string(),
    }
}

/// Files as they are named, and what lies in folders, each once and in order.
fn files(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for path in paths {
        if path.is_dir() {
            below(path, DEPTH, &mut found);
        } else {
            found.insert(path.clone());
        }
    }
    found.into_iter().take(MOST).collect()
}

/// A folder that cannot be listed holds nothing for us. Links are not followed into folders: they can go in circles.
fn below(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() && depth > 1 => below(&path, depth - 1, found),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "db") => {
                found.insert(path);
            }
            _ => {}
        }
    }
}
