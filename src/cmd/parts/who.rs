//! Which part it is: a serial number stays with a board wherever it is put, an address stays with the slot.
use std::collections::BTreeMap;

use triage_core::{Case, Resource};

use crate::books::Book;

/// Serials by UUID, from every sweep and every event that told both.
#[derive(Debug, Default)]
pub(super) struct Names {
    serials: BTreeMap<String, String>,
}

impl Names {
    pub(super) fn of(books: &[Book]) -> Self {
        let mut serials = BTreeMap::new();
        for book in books {
            let gpus = book.readings.iter().flat_map(|reading| &reading.reading.gpus);
            let read = gpus.filter_map(|gpu| Some((gpu.uuid.clone()?, gpu.serial.clone()?)));
            let told =
                book.parts.values().filter_map(|part| Some((part.uuid.clone()?, part.serial.clone()?)));
            serials.extend(read.chain(told).filter(|(uuid, serial)| is_name(uuid) && is_name(serial)));
        }
        Self { serials }
    }

    /// The GPU a case is about: by serial, else by UUID, else by its place.
    pub(super) fn gpu(&self, book: &Book, case: &Case) -> String {
        let told = case.events.iter().filter_map(|id| book.parts.get(id));
        let told = told.flat_map(|part| [part.serial.clone(), part.uuid.clone()]).flatten();
        // What the case itself keeps was in the slot when the case was opened; a sweep tells who is in it now.
        let name = case.part.clone().into_iter().chain(told).find(|name| is_name(name));
        let name = name.or_else(|| swept(book, case)).map(|name| self.canonical(name));
        name.unwrap_or_else(|| place(book, case))
    }

    fn canonical(&self, name: String) -> String {
        self.serials.get(&name).cloned().unwrap_or(name)
    }
}

/// The GPU in that slot by the last sweep before the case was opened, or the first one after.
fn swept(book: &Book, case: &Case) -> Option<String> {
    let before = book.readings.iter().rev().filter(|reading| reading.at <= case.opened_at);
    let after = book.readings.iter().filter(|reading| reading.at > case.opened_at);
    let mut gpus =
        before.chain(after).flat_map(|reading| &reading.reading.gpus).filter(|gpu| match &case.resource {
            Resource::Gpu(pci) => gpu.pci == Some(*pci),
            Resource::GpuIndex(index) => gpu.index == *index,
            _ => false,
        });
    // A GPU that is lost tells no name; the sweep before it was did.
    gpus.find_map(|gpu| {
        let mut names = gpu.serial.iter().chain(&gpu.uuid);
        names.find(|name| is_name(name)).cloned()
    })
}

/// Where it sits.
pub(super) fn place(book: &Book, case: &Case) -> String {
    format!("{} {}", book.node, case.resource)
}

/// Some boards tell a serial that is none.
fn is_name(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.chars().all(|c| c == '0') && !text.eq_ignore_ascii_case("n/a")
}
