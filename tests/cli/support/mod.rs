//! A node made up in a folder, the program run over it, and stories to fill its ledger with.
mod node;
mod records;
mod run;
mod tale;

pub(crate) use node::Node;
pub(crate) use records::*;
pub(crate) use run::{command, run};
pub(crate) use tale::*;
