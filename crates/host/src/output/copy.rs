//! The bytes of a job's output, for a bundle: read by the child, handed over a pipe, and written by the one who asked.
use serde::{Deserialize, Serialize};
use triage_core::joblog::MOST_FILES;

use super::child::{self, Piece};
use super::find;
use super::order::Order;
use crate::clock::Deadline;

/// Longest header, bytes: the names of the files and what could not be read.
pub(super) const HEADER_CAP: usize = 1 << 20;

/// One file of a job's output, as far as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its name without its folder, unique.
    pub name: String,
    /// How long it was, bytes.
    pub length: u64,
    /// Its bytes; between two parts something was left out.
    pub parts: Vec<Vec<u8>>,
}

/// The bytes of a job's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputCopy {
    /// The files, by name.
    pub files: Vec<CopiedFile>,
    /// What could not be read, one sentence each.
    pub blind: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    files: Vec<Listed>,
    blind: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Listed {
    name: String,
    length: u64,
    parts: Vec<usize>,
}

pub(super) fn collect(order: &Order, deadline: Deadline) -> (Vec<CopiedFile>, Vec<String>) {
    let (found, mut blind) = find::find(&order.request);
    let mut files = Vec::with_capacity(found.len());
    for (file, plan) in found.iter().zip(child::plan(&found, order.head, order.tail)) {
        let mut parts = vec![Vec::new()];
        child::read(file, plan, deadline, &mut blind, &mut |what| match what {
            Piece::Gap => parts.push(Vec::new()),
            Piece::Bytes(bytes, _) => {
                if let Some(part) = parts.last_mut() {
                    part.extend_from_slice(bytes);
                }
            }
        });
        files.push(CopiedFile { name: file.name.clone(), length: file.length, parts });
    }
    (files, blind)
}

pub(super) fn encode(files: &[CopiedFile], mut blind: Vec<String>) -> Vec<u8> {
    blind.truncate(256);
    let listed = files.iter().map(|file| Listed {
        name: file.name.clone(),
        length: file.length,
        parts: file.parts.iter().map(Vec::len).collect(),
    });
    let header = Header { files: listed.collect(), blind };
    let mut out = serde_json::to_vec(&header).unwrap_or_default();
    out.push(b'\n');
    for part in files.iter().flat_map(|file| &file.parts) {
        out.extend_from_slice(part);
    }
    out
}

/// # Errors
/// When the answer is none, in words.
pub(super) fn decode(answer: &[u8]) -> Result<OutputCopy, String> {
    let head = answer.get(..HEADER_CAP.min(answer.len())).unwrap_or_default();
    let end = head.iter().position(|b| *b == b'\n').ok_or("it has no header")?;
    let header: Header = triage_core::json::from_bytes(head.get(..end).unwrap_or_default())
        .map_err(|error| error.to_string())?;
    let mut rest = answer.get(end + 1..).unwrap_or_default();
    let mut files = Vec::new();
    for listed in header.files.into_iter().take(MOST_FILES) {
        let mut parts = Vec::new();
        for length in listed.parts {
            let (part, more) = rest.split_at_checked(length).ok_or("it is shorter than its header says")?;
            parts.push(part.to_vec());
            rest = more;
        }
        files.push(CopiedFile { name: listed.name, length: listed.length, parts });
    }
    Ok(OutputCopy { files, blind: header.blind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn files_come_across_whole(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..5)) {
            let file = CopiedFile { name: "a\nb".to_owned(), length: 999, parts };
            let empty = CopiedFile { name: "c".to_owned(), length: 0, parts: vec![Vec::new()] };
            let copy = OutputCopy { files: vec![file, empty], blind: vec!["x".to_owned()] };
            prop_assert_eq!(decode(&encode(&copy.files, copy.blind.clone())), Ok(copy));
        }

        #[test]
        fn any_answer_is_files_or_an_error(answer in "\\PC{0,80}", parts in proptest::collection::vec(any::<usize>(), 0..3)) {
            let _ = decode(answer.as_bytes());
            let header = format!("{{\"files\":[{{\"name\":\"a\",\"length\":1,\"parts\":{parts:?}}}],\"blind\":[]}}\nxyz");
            let _ = decode(header.as_bytes());
        }
    }
}
