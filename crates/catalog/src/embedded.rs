//! The data that is built into the program; `build.rs` packs it and folds it up to a quarter of its size. Most runs of a
//! hook never look at it.
use std::sync::OnceLock;

use miniz_oxide::inflate::decompress_to_vec_zlib;
use triage_core::catalog::{BuiltIn, Origin, Packed, Parts, Table};

include!(concat!(env!("OUT_DIR"), "/anchors.rs"));

/// One of the texts that `build.rs` has written, unfolded when it is first looked at.
macro_rules! folded {
    ($name:literal) => {{
        fn text() -> &'static str {
            static TEXT: OnceLock<String> = OnceLock::new();
            TEXT.get_or_init(|| unfold(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".z"))))
        }
        BuiltIn::Made(text)
    }};
}

/// What `build.rs` has folded is in the program's own file: it can be read, or the file is broken. A test says so of
/// each of them; in a broken file an empty text is as good as any.
fn unfold(bytes: &[u8]) -> String {
    decompress_to_vec_zlib(bytes).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The shipped catalogue's parts. Nothing is parsed or copied.
pub(crate) fn parts() -> Parts {
    Parts {
        table: Table::new(folded!("entries"), folded!("shared")),
        families: Packed::new(folded!("families")),
        variants: Packed::new(folded!("variants")),
        nvlink5: Packed::new(folded!("nvlink5")),
        anchors: ANCHORS,
        ..Parts::default()
    }
}
