//! Reading the machine's own files, each bounded and below a root that tests can move.
mod attr;
pub mod driver;
pub mod nic;
pub mod pci;
