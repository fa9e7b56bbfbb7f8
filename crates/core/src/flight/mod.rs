//! PyTorch's flight recorder: what every rank was doing in its last collectives.

/// What the dumps of one job's ranks tell together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Ranks that left a dump.
    pub dumped: Vec<u32>,
    /// Ranks of a process group that did not take part in the collective all others wait in.
    pub missing: Vec<u32>,
    /// Two ranks of one process group in different operations at the same sequence number, in words.
    pub mismatch: Option<String>,
}

impl Summary {
    /// The rank that alone is behind, where there is exactly one.
    pub fn only_missing(&self) -> Option<u32> {
        match self.missing.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }
}
