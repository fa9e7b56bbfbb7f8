//! Where paths begin in a word, and which of their names belong to nobody.

/// Folders in the root that hold the system; what lies below them names nobody.
pub(super) const SYSTEM: &[&str] =
    &["bin", "boot", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "usr"];

/// Folders in the root whose name says what kind of filesystem it is; what lies below them is named by people.
pub(super) const ROOTS: &[&str] = &[
    "beegfs", "data", "efs", "export", "fs", "fsx", "gpfs", "home", "local", "lustre", "mnt", "net", "nfs",
    "projects", "root", "scratch", "shared", "srv", "tmp", "users", "var", "vast", "weka", "work",
];

/// Below these, names are those of libraries.
pub(super) const LIBRARIES: &[&str] = &["site-packages", "dist-packages"];

/// Longest ending of a file's name that stays.
pub(super) const ENDING: usize = 6;

/// Endings of source files: programs tell where in themselves they are by these, and whose programs they are they do
/// not tell.
const SOURCES: &[&str] = &["c", "cc", "cpp", "cu", "cuh", "cxx", "go", "h", "hpp", "rs", "so"];

/// Where the first path in `text` begins. `relative`: also one that is told by its ending or its first sign. The cost
/// is that of the text's length, whatever is in it.
pub(super) fn begin(text: &str, relative: bool) -> Option<usize> {
    let slash = text.find('/')?;
    // The word with the first slash in it begins before any path that is absolute.
    let start = text.get(..slash)?.rfind(':').map_or(0, |at| at + 1);
    let word = text.get(start..)?.split(':').next()?;
    if relative && is_relative(word) {
        return Some(start);
    }
    text.match_indices('/').map(|(at, _)| at).find(|at| {
        let behind = text.get(at + 1..).unwrap_or_default();
        let end = behind.find(['/', ':']).unwrap_or(behind.len());
        let (first, rest) = behind.split_at(end);
        // `-I/home/ann`, `@/tmp/x`: glued to what stands before it.
        (rest.starts_with('/') && ROOTS.contains(&first))
            || (begins_word(text, *at) && names_something(behind))
    })
}

fn begins_word(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes().get(at - 1) == Some(&b':')
}

/// `/vol` and `/a/b`, and not `/64`.
fn names_something(behind: &str) -> bool {
    let path = behind.split(':').next().unwrap_or_default();
    path.len() > 1 && path.bytes().any(|b| b.is_ascii_alphabetic() || b >= 0x80)
}

/// `data/ann/x.pt`, `~/x`, `./x`: and not `it/s`, `3/4`, `NET/IB`.
fn is_relative(word: &str) -> bool {
    if ["~", "./", "../"].iter().any(|start| word.starts_with(start)) {
        return !ends_as_source(word);
    }
    let ending = word.rsplit_once('/').and_then(|(_, name)| name.rsplit_once('.')).map(|(_, ending)| ending);
    let names_a_file = ending.is_some_and(|ending| {
        (1..=ENDING).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic())
    });
    names_a_file && word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !ends_as_source(word)
}

fn ends_as_source(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(_, ending)| SOURCES.contains(&ending))
}
