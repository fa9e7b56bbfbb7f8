//! The exported functions, a file for each group. Their names and arguments are NVML's.
mod fields;
mod find;
mod health;
mod identity;
mod load;
mod mig;
mod nvlink;
mod pcie;
mod system;

/// Names of all functions that a client may call, group by group.
pub(crate) const FUNCTIONS: &[&[&str]] = &[
    system::FUNCTIONS,
    find::FUNCTIONS,
    identity::FUNCTIONS,
    health::FUNCTIONS,
    load::FUNCTIONS,
    mig::FUNCTIONS,
    mig::ATTRIBUTES,
    pcie::FUNCTIONS,
    nvlink::FUNCTIONS,
    fields::FUNCTIONS,
];
