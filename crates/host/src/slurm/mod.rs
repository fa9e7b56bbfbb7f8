//! Slurm as it meets us: the environment of its hooks, its node lists, and `scontrol`.
pub mod answer;
pub mod env;
pub mod hostlist;
pub mod record;
pub mod scontrol;

pub use answer::Refusal;
pub use env::HookEnv;
pub use scontrol::{Scontrol, ScontrolError};
