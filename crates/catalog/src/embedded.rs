//! The data that is built into the program; `build.rs` packs it.
use std::borrow::Cow;

use triage_core::catalog::nvlink5::Row;
use triage_core::catalog::{Change, Decoder, Family, Origin, Parts, Pattern, Table, Variant};
use triage_core::{Advice, CauseClass, ClearedBy, Confidence, Role};

include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// The shipped catalogue's parts. Nothing is parsed or copied.
pub(crate) fn parts() -> Parts {
    Parts {
        table: Table::new(
            include_str!(concat!(env!("OUT_DIR"), "/entries.txt")),
            include_str!(concat!(env!("OUT_DIR"), "/shared.txt")),
        ),
        families: Cow::Borrowed(&FAMILIES),
        variants: Cow::Borrowed(&VARIANTS),
        nvlink5: &NVLINK5,
        anchors: ANCHORS,
        ..Parts::default()
    }
}
