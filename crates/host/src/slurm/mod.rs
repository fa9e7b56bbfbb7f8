//! Slurm as it meets us: the environment of its hooks, its node lists, and `scontrol`.
pub mod answer;
pub mod conf;
pub mod env;
pub mod gres;
pub mod hostlist;
pub mod record;
pub mod scontrol;
pub mod topology;

pub use answer::Refusal;
pub use env::HookEnv;
pub use scontrol::{Scontrol, ScontrolError};
