//! The rules. Each is a fact about how jobs fail, with its own tests; the engine only picks among what they say.
mod device;
mod errors;
mod filesystem;
mod history;
mod links;
mod memory;
mod nodes;
mod nothing;
mod outside;
mod pattern;

use super::claim::Rule;

pub(super) use device::EPIDEMIC;
pub(super) use links::lasting as lasting_link_faults;
pub(super) use pattern::symptoms;

/// Every rule. Within a tier the order breaks ties.
pub(super) const RULES: &[Rule] = &[
    nothing::WENT_WELL,
    nodes::NODE_LOST,
    device::NODE_FAULT,
    links::GROUP_LOST_LINKS,
    links::ONE_NODE_LOST_LINK,
    links::BAD_CABLE,
    history::SAME_GPU,
    memory::OUT_OF_MEMORY,
    filesystem::FILESYSTEM,
    errors::FIRST_ERROR,
    nodes::STUCK_PROCESSES,
    outside::ENDED_FROM_OUTSIDE,
    history::SAME_CODE_ELSEWHERE,
    history::SAME_NODE,
    pattern::STRAGGLER,
    pattern::MISMATCH,
    pattern::NOT_ALL_JOINED,
    pattern::NETWORK_ERRORS,
    pattern::LAGGARD,
    device::GPU_BESIDE,
];
