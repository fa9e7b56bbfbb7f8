//! What a source said, verbatim.
use serde::{Deserialize, Serialize};

use super::words::vocabulary;
use super::{BootId, NodeName, Provenance, Stamp, TaskEdge, UnknownWord};
use crate::reading::NvmlReading;
use std::fmt;
use std::str::FromStr;

vocabulary! {
    /// Where an observation came from.
    SourceKind ("source") {
        /// `/dev/kmsg`.
        Kmsg = "kmsg",
        /// A file that holds the kernel's log.
        KernelFile = "kernel_file",
        /// NVML, through `triage-probe`.
        Nvml = "nvml",
        /// `/sys` and `/proc`.
        Sysfs = "sysfs",
        /// Slurm: its environment for prolog and epilog, its commands' answers.
        Slurm = "slurm",
        /// Our SPANK plugin's task records.
        Spank = "spank",
        /// What the job wrote. Never trusted.
        JobOutput = "job_output",
        /// This suite about itself: gaps, hangs, blindness, drills.
        Suite = "suite",
    }
}

/// One thing a source said. Never interpreted here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The node it was seen on.
    pub node: NodeName,
    /// The boot it was seen in.
    pub boot: BootId,
    /// The kind of source.
    pub source: SourceKind,
    /// Which one of that kind: a file's path, empty where there is only one.
    pub stream: String,
    /// Position in the stream: kmsg sequence number, byte offset, or the moment of a sweep in microseconds.
    pub cursor: u64,
    /// When it happened, as the source tells it.
    pub at: Stamp,
    /// How far it can be believed.
    pub provenance: Provenance,
    /// Made for a drill or a test; the mark stays on everything that follows from it.
    pub synthetic: bool,
    /// What was said.
    pub payload: Payload,
}

/// The content of an observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// One line of text without its transport prefix. Invalid UTF-8 is replaced by U+FFFD at the edge.
    Line(String),
    /// One sweep over all GPUs.
    Nvml(Box<NvmlReading>),
    /// A task of a job started or ended.
    Task(TaskEdge),
    /// Records of the source were overwritten before they were read: the numbers of the first and last one lost.
    Gap {
        /// First lost cursor.
        from: u64,
        /// Last lost cursor.
        to: u64,
    },
    /// The source could not be read, or did not answer in time. Absence is neither health nor fault.
    Blind {
        /// What was tried and how it failed, in one line.
        reason: String,
        /// The source was still hanging when we left it.
        hung: bool,
    },
}
