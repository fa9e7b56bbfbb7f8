//! The second look after a drain of ours: who else was taken out in the same moment. Each node decides alone, so of many
//! that meet the same fault at once each finds the brakes free; a moment later each sees all the others.
use std::time::Duration;

use triage_core::fleet::{self, Limit};
use triage_core::{NodeName, Outcome};

use super::Executor;
use crate::clock::Deadline;

/// From the drain to the second look. The controller keeps the time of a reason in whole seconds: whoever is drained
/// later than this has a later second than ours, so the order among those before us is settled.
const SETTLED: Duration = Duration::from_secs(2);

impl Executor<'_> {
    /// Done: the drain stands, or is not ours any more. Not done, and no use in another try: it was lifted.
    pub(super) fn confirm(&self, node: &NodeName, limits: &[Limit], deadline: Deadline) -> Outcome {
        if deadline.left(self.clock) <= SETTLED {
            return self.later("too little time is left to wait for the drains of other nodes");
        }
        self.clock.sleep(SETTLED);
        let nodes = match self.scontrol.every_node() {
            Ok(nodes) => nodes,
            Err(error) => return self.later(error.to_string()),
        };
        let Some(mine) = nodes.iter().find(|record| record.node == *node) else {
            return self.later(format!("the controller did not tell of {node}"));
        };
        if !fleet::is_out_by_us(mine) {
            return self.done("not out by us any more");
        }
        let Some(why) = fleet::held(limits, &nodes, node) else {
            return self.done("within the brakes: the drain stands");
        };
        match self.scontrol.undrain(node) {
            Ok(()) => self.left_alone(format!("one too many, our drain is lifted again: {why}")),
            Err(error) => self.later(error.to_string()),
        }
    }
}
