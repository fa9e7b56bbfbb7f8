//! The data that is built into the program; `build.rs` packs it.
use triage_core::catalog::{Origin, Packed, Parts, Table};

include!(concat!(env!("OUT_DIR"), "/anchors.rs"));

/// The shipped catalogue's parts. Nothing is parsed or copied.
pub(crate) fn parts() -> Parts {
    Parts {
        table: Table::new(
            include_str!(concat!(env!("OUT_DIR"), "/entries.txt")),
            include_str!(concat!(env!("OUT_DIR"), "/shared.txt")),
        ),
        families: Packed::new(include_str!(concat!(env!("OUT_DIR"), "/families.txt"))),
        variants: Packed::new(include_str!(concat!(env!("OUT_DIR"), "/variants.txt"))),
        nvlink5: Packed::new(include_str!(concat!(env!("OUT_DIR"), "/nvlink5.txt"))),
        anchors: ANCHORS,
        ..Parts::default()
    }
}
