//! How a line is recognised.
use std::borrow::Cow;

use super::{Change, Fields, Pattern, Record, Text};
use crate::SourceKind;
use crate::model::words::vocabulary;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

use crate::UnknownWord;

vocabulary! {
    /// Which kind of text a family reads.
    Origin ("source kind") {
        /// The kernel log.
        Kernel = "kernel",
        /// What a job wrote.
        Job = "job",
        /// What Slurm's commands and daemons say.
        Slurm = "slurm",
    }
}

impl Origin {
    /// The kind of text a source yields; `None` for sources that yield no lines.
    pub const fn of(source: SourceKind) -> Option<Self> {
        match source {
            SourceKind::Kmsg | SourceKind::KernelFile => Some(Self::Kernel),
            SourceKind::JobOutput => Some(Self::Job),
            SourceKind::Slurm => Some(Self::Slurm),
            SourceKind::Nvml | SourceKind::Sysfs | SourceKind::Spank | SourceKind::Suite => None,
        }
    }
}

vocabulary! {
    /// A register layout that needs more than a regular expression.
    Decoder ("decoder") {
        /// Xid 144 to 150: unit, sub-code and error status in the first two words of the line's register dump.
        Nvlink5 = "nvlink5",
    }
}

/// One way in which a source words a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Its name, unique.
    pub id: Text,
    /// Which text it reads.
    pub sources: Cow<'static, [Origin]>,
    /// Literals of which a line of this family holds at least one, case-sensitive. They should be rare in healthy
    /// logs: a line that holds none is never looked at again.
    pub tags: Cow<'static, [Text]>,
    /// Literals of which the line must hold one as well, where there are any: spares the pattern most lines that only
    /// share the tag. Too common to be tags.
    pub needs: Cow<'static, [Text]>,
    /// The line, without its transport prefix. Anchor it: a process may call itself `NVRM: Xid`.
    pub pattern: Pattern,
    /// The code, with named groups in braces: `xid.{code}`.
    pub code: Text,
    /// The code whose entry describes a code that has no entry of its own; empty: such a line has no meaning.
    pub otherwise: Text,
    /// What the event is about: the first template whose groups all matched. None: the host.
    pub resource: Cow<'static, [Text]>,
    /// What else must be done to understand it.
    pub decode: Option<Decoder>,
}

/// A wording that changes what a code, or any code of a family, means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The code (`xid.154`), or `@` and the family's id (`@nvidia.sxid`).
    pub owner: Text,
    /// Looked for in the group `text` of the family's pattern, else in the whole line. Named groups become fields.
    pub pattern: Pattern,
    /// What it changes.
    pub change: Change,
    /// What this wording means, one line; becomes the field `note`. May be empty.
    pub note: Text,
}

impl Record for Family {
    fn unpack(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            id: fields.text()?,
            sources: fields.words()?,
            tags: fields.texts()?,
            needs: fields.texts()?,
            pattern: Pattern::embedded(fields.text()?),
            code: fields.text()?,
            otherwise: fields.text()?,
            resource: fields.texts()?,
            decode: fields.word_if_any()?,
        })
    }
}

impl Record for Variant {
    fn unpack(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            owner: fields.text()?,
            pattern: Pattern::embedded(fields.text()?),
            change: Change::unpack(fields)?,
            note: fields.text()?,
        })
    }
}
