//! Names of output files, as Slurm makes them of what the user wrote after `--output` and `--error`.
//!
//! `scontrol` expands most of it before it shows the path, which parts differs by release (read in the sources of 20.11
//! to 26.05): `%A %a %j %u %x` in all, with a width (`%4j`) and `%b` only later ones. `%N %n %s %t %J` are left to
//! slurmstepd and stand for one file a node, step or task; for these the folder is searched. A backslash anywhere
//! turns all of it off.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use triage_core::ArrayId;

/// Widest padding Slurm makes.
const WIDEST: usize = 10;

/// Longest path that the kernel takes, bytes (`PATH_MAX`).
const LONGEST: usize = 4096;

/// How slurmstepd of 22.05 writes the batch step where a number is wanted (`SLURM_BATCH_SCRIPT`).
const BATCH_STEP: &str = "4294967291";

/// Steps that are no numbers.
const NAMED_STEPS: [&str; 4] = ["batch", "interactive", "extern", BATCH_STEP];

/// What the symbols stand for.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// `%j`.
    pub(super) job: u32,
    /// `%A` and `%a`.
    pub(super) array: Option<ArrayId>,
    /// `%u`.
    pub(super) user: String,
    /// `%x`.
    pub(super) name: String,
    /// `%N` is one of these, or its part before the first dot; the first one is the batch host.
    pub(super) hosts: Vec<String>,
}

/// A path whose last part may stand for several files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The folder, absolute.
    pub(super) folder: PathBuf,
    /// The name in it.
    name: Vec<Piece>,
    hosts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A number of at least so many digits: `%n`, `%t`.
    Number(usize),
    /// `%s`: a number or a word.
    Step(usize),
    /// What `%J` has behind the job's number: nothing, or a dot and the step.
    Behind,
    /// `%N`.
    Host,
    /// Where `scontrol`'s answer was no UTF-8: one to three bytes.
    Lost,
}

impl Pattern {
    /// The path that `text` makes; a relative one lies below `work_dir`.
    ///
    /// # Errors
    /// When no file can have it, in words.
    pub(super) fn new(text: &str, work_dir: &str, names: &Names) -> Result<Self, String> {
        let mut pieces = Pieces::default();
        if !text.starts_with('/') {
            if !work_dir.starts_with('/') {
                return Err("neither it nor the job's folder is an absolute path".to_owned());
            }
            pieces.text(work_dir);
            pieces.text("/");
        }
        if text.contains('\\') {
            pieces.text(&text.replace('\\', ""));
        } else {
            expand(text, names, &mut pieces);
        }
        let (folder, name) = split(pieces.0, &names.hosts);
        if folder.contains('\0') || folder.len() + text.len() > LONGEST {
            return Err("no file can have such a path".to_owned());
        }
        if name.is_empty() {
            return Err("it is a folder".to_owned());
        }
        Ok(Self { folder: folder.into(), name, hosts: names.hosts.clone() })
    }

    /// The name, where it can be only one.
    pub(super) fn only(&self) -> Option<PathBuf> {
        match self.name.as_slice() {
            [Piece::Text(name)] => Some(self.folder.join(name)),
            _ => None,
        }
    }

    /// Whether a file of the folder can be one of these.
    pub(super) fn matches(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        for piece in &self.name {
            let mut next = vec![false; name.len() + 1];
            for at in (0..=name.len()).filter(|at| reached[*at]) {
                for length in piece.lengths(&name[at..], &self.hosts) {
                    next[at + length] = true;
                }
            }
            reached = next;
        }
        reached[name.len()]
    }
}

impl Piece {
    /// How many bytes of `rest` it may stand for.
    fn lengths(&self, rest: &[u8], hosts: &[String]) -> Vec<usize> {
        match self {
            Self::Text(text) => begins(rest, text),
            Self::Number(width) => number(rest, *width),
            Self::Step(width) => {
                let mut lengths = number(rest, *width);
                lengths.extend(NAMED_STEPS.iter().flat_map(|word| begins(rest, word)));
                lengths
            }
            Self::Behind => {
                let behind = rest.strip_prefix(b".").map(|step| Self::Step(0).lengths(step, hosts));
                let mut lengths: Vec<usize> = behind.into_iter().flatten().map(|length| length + 1).collect();
                lengths.push(0);
                lengths
            }
            Self::Host => hosts.iter().flat_map(|host| [host.as_str(), short(host)]).fold(
                Vec::new(),
                |mut lengths, host| {
                    lengths.extend(begins(rest, host));
                    lengths
                },
            ),
            Self::Lost => {
                let invalid = rest.iter().take(3).take_while(|b| !b.is_ascii()).count();
                (1..=invalid).collect()
            }
        }
    }
}

fn begins(rest: &[u8], text: &str) -> Vec<usize> {
    if rest.starts_with(text.as_bytes()) { vec![text.len()] } else { Vec::new() }
}

/// A number as `%0*u` prints it: no more zeros before it than its width asks for.
fn number(rest: &[u8], width: usize) -> Vec<usize> {
    let width = width.max(1);
    let digits = rest.iter().take(WIDEST).take_while(|b| b.is_ascii_digit()).count();
    let padded = rest.first() == Some(&b'0');
    (width..=digits).filter(|length| *length == width || !padded).collect()
}

fn short(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

/// Pieces with neighbouring texts as one.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn text(&mut self, text: &str) {
        for (index, part) in text.split(char::REPLACEMENT_CHARACTER).enumerate() {
            if index > 0 {
                self.0.push(Piece::Lost);
            }
            match self.0.last_mut() {
                _ if part.is_empty() => {}
                Some(Piece::Text(last)) => last.push_str(part),
                _ => self.0.push(Piece::Text(part.to_owned())),
            }
        }
    }

    fn number(&mut self, number: u32, width: usize) {
        self.text(&format!("{number:0width$}"));
    }
}

fn expand(text: &str, names: &Names, pieces: &mut Pieces) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        pieces.text(before);
        if let Some(more) = after.strip_prefix('%') {
            pieces.text("%");
            rest = more;
            continue;
        }
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (width, symbol) = after.split_at(digits);
        let width = width.parse().unwrap_or(WIDEST).min(WIDEST) * usize::from(digits > 0);
        let mut symbols = symbol.chars();
        let known = symbols.next().is_some_and(|symbol| one(symbol, width, names, pieces));
        if known {
            rest = symbols.as_str();
        } else {
            pieces.text("%");
            rest = after;
        }
    }
    pieces.text(rest);
}

/// One symbol; `false` when it is none.
fn one(symbol: char, width: usize, names: &Names, pieces: &mut Pieces) -> bool {
    match symbol {
        'A' => pieces.number(names.array.map_or(names.job, |array| array.job), width),
        'a' | 'b' => {
            let Some(array) = names.array else { return false };
            pieces.number(if symbol == 'a' { array.task } else { array.task % 10 }, width);
        }
        'j' => pieces.number(names.job, width),
        'J' => {
            pieces.number(names.job, width);
            pieces.0.push(Piece::Behind);
        }
        'N' => pieces.0.push(Piece::Host),
        'n' | 't' => pieces.0.push(Piece::Number(width)),
        's' => pieces.0.push(Piece::Step(width)),
        'u' => pieces.text(&names.user),
        'x' => pieces.text(&names.name),
        _ => return false,
    }
    true
}

/// The folder and what stands behind its last slash. In the folder's path the batch script's values are taken.
fn split(pieces: Vec<Piece>, hosts: &[String]) -> (String, Vec<Piece>) {
    let slash = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains('/'));
    let Some(last) = pieces.iter().rposition(slash) else { return (String::new(), pieces) };
    let mut folder = String::new();
    let mut name = Vec::new();
    for (index, piece) in pieces.into_iter().enumerate() {
        match piece {
            Piece::Text(text) if index == last => {
                let (before, after) = text.rsplit_once('/').unwrap_or(("", &text));
                folder.push_str(before);
                folder.push('/');
                if !after.is_empty() {
                    name.push(Piece::Text(after.to_owned()));
                }
            }
            piece if index > last => name.push(piece),
            Piece::Text(text) => folder.push_str(&text),
            Piece::Number(width) => folder.push_str(&"0".repeat(width.max(1))),
            Piece::Step(_) => folder.push_str("batch"),
            Piece::Behind => {}
            Piece::Host => folder.push_str(hosts.first().map(|host| short(host)).unwrap_or_default()),
            Piece::Lost => folder.push(char::REPLACEMENT_CHARACTER),
        }
    }
    (folder, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> Names {
        Names {
            job: 4711,
            array: None,
            user: "ann".to_owned(),
            name: "train".to_owned(),
            hosts: vec!["n1.site.org".to_owned(), "n2".to_owned()],
        }
    }

    fn of_array() -> Names {
        Names { array: Some(ArrayId { job: 4700, task: 13 }), ..names() }
    }

    fn only(text: &str, names: &Names) -> String {
        Pattern::new(text, "/home/ann", names).unwrap().only().unwrap().display().to_string()
    }

    #[test]
    fn symbols_of_the_whole_job_become_one_path() {
        for (text, path) in [
            ("slurm-%j.out", "/home/ann/slurm-4711.out"),
            ("/x/%A.log", "/x/4711.log"),
            ("%x/%u-%6j", "/home/ann/train/ann-004711"),
            ("%2j", "/home/ann/4711"),
            ("%99j", "/home/ann/0000004711"),
            ("a%%j", "/home/ann/a%j"),
            ("a%q%", "/home/ann/a%q%"),
            ("a%4q", "/home/ann/a%4q"),
            ("%a", "/home/ann/%a"),
            ("x\\%j\\t", "/home/ann/x%jt"),
            ("/logs/%4t/%N/%s/o", "/logs/0000/n1/batch/o"),
        ] {
            assert_eq!(only(text, &names()), path, "{text}");
        }
        assert_eq!(only("slurm-%A_%a-%b-%03a.out", &of_array()), "/home/ann/slurm-4700_13-3-013.out");
    }

    #[test]
    fn symbols_of_steps_and_tasks_match_their_files_and_no_others() {
        let matches =
            |text: &str, name: &str| Pattern::new(text, "/d", &names()).unwrap().matches(OsStr::new(name));
        for (text, yes, no) in [
            ("o-%t", vec!["o-0", "o-12"], vec!["o-", "o-x", "o-01", "xo-1", "o-1.old", "o-1\n"]),
            ("o-%3t.log", vec!["o-001.log", "o-1234.log"], vec!["o-1.log", "o-0001.log", "o-001log"]),
            ("%j.%s", vec!["4711.0", "4711.batch", "4711.4294967291"], vec!["4712.0", "4711.", "4711.bat"]),
            ("%J", vec!["4711", "4711.0", "4711.4294967291"], vec!["47110", "4711."]),
            ("%N.log", vec!["n1.log", "n2.log", "n1.site.org.log"], vec!["n3.log", "n11.log", ".log"]),
            ("%t%n", vec!["00", "12", "312"], vec!["", "1", "00x"]),
        ] {
            for name in yes {
                assert!(matches(text, name), "{text} {name}");
            }
            for name in no {
                assert!(!matches(text, name), "{text} {name}");
            }
        }
    }

    #[test]
    fn a_name_that_is_no_text_is_found_by_what_is_left_of_it() {
        let pattern = Pattern::new("/d/a\u{fffd}b", "", &names()).unwrap();
        assert!(pattern.only().is_none());
        assert!(pattern.matches(OsStr::from_bytes(b"a\xffb")));
        assert!(!pattern.matches(OsStr::new("axb")) && !pattern.matches(OsStr::new("ab")));
    }

    #[test]
    fn what_no_file_can_be_called_is_refused() {
        for (text, folder) in [("x", ""), ("x", "rel"), ("/d/", "/"), ("", "/d"), ("/\0/x", "/")] {
            assert!(Pattern::new(text, folder, &names()).is_err(), "{text:?} {folder:?}");
        }
        assert!(Pattern::new(&"x/".repeat(5000), "/", &names()).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_refused(text in "\\PC{0,60}|(%|[0-9]|[AabJjNnstux/.\\\\]){0,60}", name in "[ -~]{0,255}") {
            if let Ok(pattern) = Pattern::new(&text, "/d", &of_array()) {
                pattern.matches(OsStr::new(&name));
                prop_assert!(pattern.folder.is_absolute());
            }
        }

        #[test]
        fn without_symbols_a_path_is_itself(name in "[a-zA-Z0-9_. -]{1,40}") {
            prop_assert_eq!(only(&name, &names()), format!("/home/ann/{name}"));
        }

        #[test]
        fn every_tasks_file_is_found(task in 0u32..100_000, width in 0usize..12) {
            let pattern = Pattern::new(&format!("o%{width}t.e"), "/d", &names()).unwrap();
            let padding = width.min(10);
            let name = format!("o{task:0padding$}.e");
            prop_assert!(pattern.matches(OsStr::new(&name)));
        }

        #[test]
        fn many_symbols_cost_bounded_time(count in 0usize..1000) {
            let pattern = Pattern::new(&"%t".repeat(count + 1), "/d", &names()).unwrap();
            prop_assert!(!pattern.matches(OsStr::new(&("1".repeat(254) + "x"))));
        }
    }
}
