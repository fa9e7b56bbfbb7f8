//! Reading the machine's own files, each bounded and below a root that tests can move.
mod attr;
mod clock;
mod collect;
mod cpus;
mod disks;
pub mod driver;
mod edac;
mod firmware;
mod kernel;
mod memory;
mod mounts;
pub mod nic;
pub mod pci;
mod processes;
mod pstore;
mod raid;
mod services;
mod slurm_node;
pub mod space;
#[cfg(any(test, feature = "testkit"))]
pub mod texts;

pub use collect::Collect;
