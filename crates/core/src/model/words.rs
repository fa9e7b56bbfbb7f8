//! The closed vocabularies of the pipeline. Each word is spelled once, here, and is the same in the catalogue,
//! the ledger, the policy and in JSON.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A word that is not of the vocabulary it was read for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} \"{word}\": expected one of {expected}")]
pub struct UnknownWord {
    /// The vocabulary's name.
    pub kind: &'static str,
    /// The word met.
    pub word: String,
    /// The words allowed, comma-separated.
    pub expected: String,
}

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident ($kind:literal) { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every word of the vocabulary, weakest first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as written in catalogue, ledger, policy and JSON.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownWord {
                        kind: $kind,
                        word: word.to_owned(),
                        expected: [$($word),+].join(", "),
                    }),
                }
            }
        }
    };
}
pub(crate) use vocabulary;

vocabulary! {
    /// How far evidence can be believed.
    Provenance ("provenance") {
        /// Whatever a job can write: its output, its files, its environment. Decides at most about that user's own job.
        User = "user",
        /// Kernel log (facility kern), NVML, sysfs, Slurm itself, our SPANK records.
        Trusted = "trusted",
    }
}

vocabulary! {
    /// What kind of cause it is.
    CauseClass ("class") {
        /// Noise, recovery, context: never a fault.
        None = "none",
        /// The evidence does not say.
        Unknown = "unknown",
        /// The user's code, data, memory use or configuration.
        Application = "application",
        /// Driver, Fabric Manager, filesystem, host memory, a service, Slurm itself.
        System = "system",
        /// The network between nodes, with no node to blame or more than one.
        Network = "network",
        /// A GPU, NVLink/NVSwitch, host part or local NIC is bad.
        Hardware = "hardware",
    }
}

vocabulary! {
    /// The part an event plays among others.
    Role ("role") {
        /// Never a fault, carries nothing.
        Noise = "noise",
        /// Carries a fact other events need; no fault by itself.
        Context = "context",
        /// Something is well again.
        Recovery = "recovery",
        /// Thrown off by a job that is being taken down; no evidence against the hardware that reports it.
        Teardown = "teardown",
        /// Follows from something else; never blamed while a root exists.
        Symptom = "symptom",
        /// A second source for a root.
        Confirmation = "confirmation",
        /// May be blamed, when nothing more specific is near.
        Either = "either",
        /// May be blamed.
        Root = "root",
    }
}

vocabulary! {
    /// What one such event, taken alone, suggests for the node it names.
    Advice ("action") {
        /// Nothing.
        None = "none",
        /// Keep an eye on it: count, show, do not act.
        Watch = "watch",
        /// Run the job again; the node stays.
        Requeue = "requeue",
        /// Take the node out of service, then reset the GPU.
        Reset = "reset",
        /// Take the node out of service, then reboot it.
        Reboot = "reboot",
        /// Take the node out of service for hands-on repair.
        Drain = "drain",
    }
}

impl Advice {
    /// Whether the node should stop taking jobs.
    pub const fn wants_node_out(self) -> bool {
        matches!(self, Self::Reset | Self::Reboot | Self::Drain)
    }
}

vocabulary! {
    /// How sure a claim is.
    Confidence ("confidence") {
        /// Something points that way.
        Suspected = "suspected",
        /// More likely than everything else together.
        Probable = "probable",
        /// A trusted source says so outright, or two independent ones agree.
        Confirmed = "confirmed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for word in Advice::ALL {
            assert_eq!(word.word().parse::<Advice>(), Ok(*word));
        }
    }

    #[test]
    fn unknown_word_names_the_choices() {
        let err = "drian".parse::<Advice>().unwrap_err();
        assert_eq!(
            err.to_string(),
            "unknown action \"drian\": expected one of none, watch, requeue, reset, reboot, drain"
        );
    }
}
