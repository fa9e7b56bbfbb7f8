//! This node's word in its own record: one key of ours in `Extra`, and nothing else in it is touched.
use triage_core::{NodeName, Outcome, peer};

use super::{Executor, extra};

impl Executor<'_> {
    pub(super) fn publish(&self, node: &NodeName, body: &str) -> Outcome {
        let record = match self.scontrol.node(node) {
            Ok(record) => record,
            Err(error) => return self.failed_but_harmless_to_repeat(&error),
        };
        let text = match extra::with(&record.extra, peer::KEY, body) {
            Ok(Some(text)) => text,
            Ok(None) => return self.done("the node record says so already"),
            Err(why) => return self.left_alone(why),
        };
        match self.scontrol.set_extra(node, &text) {
            Ok(()) if body.is_empty() => self.done("taken out of the node record"),
            Ok(()) => self.done("told in the node record"),
            Err(error) => self.failed_but_harmless_to_repeat(&error),
        }
    }
}
