//! What can be wrong with a catalogue file, where, and what to do about it.
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A catalogue file cannot be used. The catalogue as shipped stands in until it is mended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder or a file in it cannot be read.
    #[error("{}: cannot be read: make it readable for root or take it out of the folder", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What a file says is wrong.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: Place,
        /// What.
        problem: Problem,
    },
}

/// A position in a file, as editors understand it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in bytes.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Larger than any catalogue file should be.
    #[error("the file is larger than {limit} bytes: split it")]
    TooLarge {
        /// The bound.
        limit: u64,
    },
    /// TOML, a key or a word that is not understood.
    #[error("{0}: keys and words are listed in docs/catalog.md")]
    Syntax(String),
    /// Something that exists is changed without saying why.
    #[error("\"{0}\" changes an entry that exists: add reason = \"why\", it is shown with every event")]
    NoReason(String),
    /// A new stanza is incomplete.
    #[error("\"{name}\" is new and has no {missing}: add what is missing")]
    Missing {
        /// Code or family.
        name: String,
        /// Keys, comma-separated.
        missing: String,
    },
    /// A pattern does not compile.
    #[error(
        "the pattern does not compile: {0}: see the syntax of Rust's regex crate; there is no look-around"
    )]
    Pattern(String),
    /// A literal that would stop on too many lines.
    #[error("the tag \"{0}\" is shorter than {min} bytes: choose a longer literal that is rare in healthy logs", min = crate::SHORTEST_TAG)]
    ShortTag(String),
    /// A family without samples.
    #[error("the family \"{0}\" has no sample: add [[family.sample]] with a line it must recognise")]
    NoSample(String),
    /// A family whose codes have no entry.
    #[error(
        "the family \"{family}\" gives the code \"{code}\", which has no entry: add a [[code]] or `otherwise`"
    )]
    NoEntry {
        /// The family.
        family: String,
        /// The code.
        code: String,
    },
    /// A sample nothing recognises, or another family does.
    #[error(
        "the sample is recognised by {found}, not by \"{family}\": check tags, the pattern's anchor and the order of families"
    )]
    Unrecognised {
        /// The family it is a sample of.
        family: String,
        /// What recognised it instead.
        found: String,
    },
    /// A sample that means something else than it says.
    #[error("the sample's {what} is \"{found}\", not \"{expected}\": correct the sample or the stanza")]
    SampleDiffers {
        /// Which part.
        what: String,
        /// As written.
        expected: String,
        /// As read.
        found: String,
    },
    /// A control character in a text.
    #[error("\"{0}\" holds a control character: write the text on one line")]
    ControlCharacter(String),
    /// Only the shipped files may have these.
    #[error("{0} belongs to the shipped data: change the [[code]] or [[family]] instead")]
    ShippedOnly(&'static str),
}
