//! The second look after a drain of ours: who else was taken out in the same moment. Each node decides alone, so of many
//! that meet the same fault at once each finds the brakes free; a moment later each sees all the others.
use std::time::Duration;

use triage_core::fleet::{self, Fleet, Limit, Scope};
use triage_core::{NodeName, NodeRecord, Outcome, reason};

use super::Executor;
use crate::clock::Deadline;
use crate::slurm::topology::{self, Place};

/// From the drain to the second look. The controller keeps the time of a reason in whole seconds: whoever is drained
/// later than this has a later second than ours, so the order among those before us is settled.
const SETTLED: Duration = Duration::from_secs(2);

impl Executor<'_> {
    /// Done: the drain stands, or is not ours any more. Not done, and no use in another try: it was lifted.
    pub(super) fn confirm(&self, node: &NodeName, limits: &[Limit], deadline: Deadline) -> Outcome {
        let (mine, nodes) = match self.once_settled(node, deadline) {
            Ok(told) => told,
            Err(later) => return later,
        };
        // What a person wrote behind our words took the drain over.
        if !fleet::is_out_by_us(&mine) || reason::case_of(&mine.reason).is_none() {
            return self.done("not out by us any more");
        }
        let Some(why) = fleet::held(&self.all_limits(limits, &mine, &nodes), &nodes, node) else {
            return self.done("within the brakes: the drain stands");
        };
        match self.scontrol.undrain(node) {
            Ok(()) => self.left_alone(format!("one too many, our drain is lifted again: {why}")),
            Err(error) => self.later(error.to_string()),
        }
    }

    /// A drain that a prolog wanted, or a pass that got no answer, was wanted without the nodes' records: of its partition and its
    /// switch nothing was known.
    pub(super) fn all_limits(&self, limits: &[Limit], mine: &NodeRecord, nodes: &[NodeRecord]) -> Vec<Limit> {
        let of_place = |limit: &Limit| matches!(limit.scope, Scope::Partition(_) | Scope::Switch { .. });
        let mut all = limits.to_vec();
        if let Some(site) = self.site.as_ref().filter(|_| !limits.iter().any(of_place)) {
            let place = site.topology.as_ref().map(|path| topology::place_of(path, &mine.node));
            let switch = match place {
                Some(Place::Below(switch)) => Some(switch),
                _ => None,
            };
            let fleet = Fleet { nodes: nodes.to_vec(), switch, ..Fleet::default() };
            all.extend(fleet::of_place(site.brakes, &fleet, &mine.node));
        }
        all
    }

    /// This node and all of them, as the controller has them a moment after the drain; what to answer where it cannot
    /// be known.
    pub(super) fn once_settled(
        &self,
        node: &NodeName,
        deadline: Deadline,
    ) -> Result<(NodeRecord, Vec<NodeRecord>), Outcome> {
        if deadline.left(self.clock) <= SETTLED {
            return Err(self.later("too little time is left to wait for the drains of other nodes"));
        }
        self.clock.sleep(SETTLED);
        let nodes = self.scontrol.every_node().map_err(|error| self.later(error.to_string()))?;
        match nodes.iter().find(|record| record.node == *node).cloned() {
            Some(mine) => Ok((mine, nodes)),
            None => Err(self.later(format!("the controller did not tell of {node}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use triage_core::{Action, CaseId, DecisionId, Stamp};

    use super::*;
    use crate::slurm::Scontrol;
    use crate::testkit::{FakeClock, Scripted, answered, failed};

    const OURS: &str = "slurm-triage: xid.79 gpu [case 0a1b2c3d]";

    fn record(node: &str, state: &str, reason: &str, at: i64) -> String {
        format!("NodeName={node} State={state} Partitions=p Reason={reason} [root@{at}]\n")
    }

    /// Confirms n2's drain with at most one node out; what came of it, and what the controller was asked.
    fn confirm(
        answers: Vec<Result<crate::runner::Finished, crate::runner::RunError>>,
    ) -> (Outcome, Vec<String>) {
        let runner = Scripted::in_order(answers);
        let clock = FakeClock::at(Stamp::from_secs(1_800_000_100));
        let program = "/usr/bin/scontrol".into();
        let scontrol = Scontrol { runner: &runner, program, conf: None, deadline: Duration::from_secs(3) };
        let action = Action::ConfirmDrain {
            node: NodeName::from("n2"),
            case: CaseId::from("0a1b2c3d"),
            limits: vec![Limit { most: 1, scope: Scope::Cluster }],
            decision: DecisionId::from("d"),
        };
        let deadline = Deadline::after(&clock, Duration::from_secs(60));
        let outcome =
            Executor { scontrol, clock: &clock, output: None, site: None }.execute(&action, deadline);
        (outcome, runner.asked())
    }

    #[test]
    fn who_went_second_of_one_allowed_comes_back() {
        let nodes = record("n1", "IDLE+DRAIN", OURS, 50) + &record("n2", "MIXED+DRAIN", OURS, 50);
        let (outcome, asked) = confirm(vec![answered(&nodes), answered("")]);
        assert_eq!((outcome.done, outcome.retry), (false, false));
        assert!(outcome.answer.contains("at most 1"), "{}", outcome.answer);
        assert_eq!(asked, ["-o show node", "update NodeName=n2 State=UNDRAIN"]);
    }

    #[test]
    fn who_went_first_stays_out() {
        let nodes = record("n1", "IDLE+DRAIN", OURS, 51) + &record("n2", "MIXED+DRAIN", OURS, 50);
        let (outcome, asked) = confirm(vec![answered(&nodes)]);
        assert!(outcome.done);
        assert_eq!(asked.len(), 1);
    }

    #[test]
    fn a_drain_that_is_a_persons_by_now_is_not_lifted() {
        let nodes = record("n1", "IDLE+DRAIN", OURS, 50) + &record("n2", "MIXED+DRAIN", "bad fan", 60);
        let (outcome, asked) = confirm(vec![answered(&nodes)]);
        assert!(outcome.done && asked.len() == 1, "{}", outcome.answer);
    }

    #[test]
    fn a_drain_that_a_person_took_over_behind_our_words_is_not_lifted() {
        let theirs = format!("{OURS} keep out until Monday, Ann");
        let nodes = record("n1", "IDLE+DRAIN", OURS, 50) + &record("n2", "MIXED+DRAIN", &theirs, 60);
        let (outcome, asked) = confirm(vec![answered(&nodes), answered("")]);
        assert!(outcome.done && asked.len() == 1, "{}", outcome.answer);
    }

    #[test]
    fn a_controller_that_is_away_is_asked_later_and_nothing_is_lifted() {
        let away = "slurm_load_node error: Unable to contact slurm controller (connect failure)";
        for answers in [vec![failed(away)], vec![answered("")]] {
            let (outcome, asked) = confirm(answers);
            assert_eq!((outcome.done, outcome.retry, asked.len()), (false, true, 1));
        }
    }
}
