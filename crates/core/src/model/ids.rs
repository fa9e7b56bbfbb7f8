//! Names and identities. Ids are digests of what they name, so computing one twice gives the same id.
use std::fmt;

use serde::{Deserialize, Serialize};

/// FNV-1a, 64 bit, over `parts` with a separator no text of ours contains. Identity only, not security: an
/// id decides "have I seen this before", never "may this be trusted".
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = OFFSET;
    for part in parts {
        for &byte in part.iter().chain(&[0x1f]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    // FNV mixes its last bytes poorly into the high half; one finalising round spreads them.
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

macro_rules! text_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_newtype!(
    /// A node's name as Slurm writes it (`NodeName`, `SLURMD_NODENAME`).
    NodeName
);
text_newtype!(
    /// One boot of one node: the text of `/proc/sys/kernel/random/boot_id`.
    BootId
);
text_newtype!(
    /// What happened, in the catalogue's words: `xid.79`, `nccl.watchdog_timeout`, `task.exit`.
    Code
);
text_newtype!(
    /// Identity of an event: digest of boot, source, stream and cursor. Reading a source twice gives the same id.
    EventId
);
text_newtype!(
    /// Identity of a case: eight hex digits, digest of node, fault class, resource and the event that opened it.
    CaseId
);
text_newtype!(
    /// Identity of a verdict: digest of its subject and its moment.
    VerdictId
);
text_newtype!(
    /// Identity of a decision: digest of subject, intent, case and moment.
    DecisionId
);

impl NodeName {
    /// Whether the text is safe inside a path and an argument list: Slurm's own alphabet for node names,
    /// no leading dot or dash.
    pub fn is_safe(&self) -> bool {
        let bytes = self.0.as_bytes();
        !bytes.is_empty()
            && bytes.len() <= 255
            && !matches!(bytes.first(), Some(b'.' | b'-'))
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
    }
}

impl EventId {
    /// The id of the event found at `cursor` of `stream` of `source` in `boot` on `node`.
    pub fn of(node: &NodeName, boot: &BootId, source: &str, stream: &str, cursor: u64, code: &str) -> Self {
        let cursor = cursor.to_string();
        let parts = [node.as_str(), boot.as_str(), source, stream, &cursor, code];
        Self(format!("{:016x}", digest(parts.map(str::as_bytes))))
    }
}

impl CaseId {
    /// The id of the case that `opened_by` opens on `resource`.
    pub fn of(node: &NodeName, fault: &str, resource: &str, opened_by: &EventId) -> Self {
        let parts = [node.as_str(), fault, resource, opened_by.as_str()];
        Self(format!("{:08x}", digest(parts.map(str::as_bytes)) >> 32))
    }
}

impl VerdictId {
    /// The id of the verdict over `subject` at `at`.
    pub fn of(subject: &str, at: super::Stamp) -> Self {
        let at = at.micros().to_string();
        Self(format!("{:016x}", digest([subject.as_bytes(), at.as_bytes()])))
    }
}

impl DecisionId {
    /// The id of the decision for `intent` over `subject`, grounded on `case`, at `at`.
    pub fn of(subject: &str, intent: &str, case: &str, at: super::Stamp) -> Self {
        let at = at.micros().to_string();
        Self(format!("{:016x}", digest([subject, intent, case, &at].map(str::as_bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(digest([&b"ab"[..], b"c"]), digest([&b"a"[..], b"bc"]));
    }

    #[test]
    fn node_names_that_could_leave_a_folder_are_unsafe() {
        for bad in ["", ".", "..", "../x", "a/b", "-x", "a b", "a\0", "a\n", "é"] {
            assert!(!NodeName::new(bad).is_safe(), "{bad:?}");
        }
        assert!(NodeName::from("gpu-01.rack_2").is_safe());
    }
}
