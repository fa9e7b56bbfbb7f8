//! A node whose drain was one too many and is lifted again by the second look: it goes on as one that a brake holds.
use triage_core::pipeline::Trigger;
use triage_core::{Action, Stamp};
use triage_hooks::carry::{self, Take};
use triage_host::testkit::FakeClock;

use crate::clock_jumps::Node;
use crate::sim::BEGAN;

/// The epilog drains n1, and so do two other nodes in the same second before it: of eight two may go.
fn one_too_many() -> (Node, FakeClock) {
    let node = Node::new();
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 500));
    let sim = node.sim.clone();
    node.pass(&clock, Trigger::Epilog, |ctx, ledger, output| {
        carry::out(ctx, ledger, output, Take::AtOnce);
        assert_eq!(sim.borrow().drained(), ["n1"]);
        ["m1", "m2"].iter().for_each(|other| sim.borrow_mut().lose(other));
        carry::out(ctx, ledger, output, Take::All);
    });
    (node, clock)
}

#[test]
fn a_node_whose_drain_was_lifted_again_refuses_no_job() {
    let (node, clock) = one_too_many();
    assert_eq!(node.sim.borrow().drained(), ["m1", "m2"], "{:?}", node.intents("confirm_drain"));
    clock.set_wall(Stamp::from_secs(BEGAN + 520));
    node.pass(&clock, Trigger::Prolog, |_, _, output| {
        let kinds: Vec<_> = output.actions.iter().map(Action::kind).collect();
        assert!(kinds.is_empty(), "Slurm drains the node of a prolog that refuses: {kinds:?}");
    });
}

#[test]
fn a_node_whose_drain_was_lifted_again_is_drained_once_there_is_room() {
    let (node, clock) = one_too_many();
    // Before anybody looks again.
    ["m1", "m2"].iter().for_each(|other| node.sim.borrow_mut().bring_back(other));
    for minute in 1..=40 {
        clock.set_wall(Stamp::from_secs(BEGAN + 500 + minute * 60));
        node.health_check(&clock);
    }
    assert_eq!(node.sim.borrow().drained(), ["n1"], "{:?}", node.intents("drain"));
}

/// A prolog asks nobody before it drains. What it did is measured by the same brakes as any other drain: of eight nodes and two
/// more two are out for hours.
#[test]
fn a_drain_of_a_prolog_is_one_too_many_for_its_partition_as_well() {
    let node = Node::new();
    ["m1", "m2"].iter().for_each(|other| node.sim.borrow_mut().lose(other));
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 5_000));
    node.pass(&clock, Trigger::Prolog, |ctx, ledger, output| carry::out(ctx, ledger, output, Take::All));
    let told = node.intents("confirm_drain");
    assert_eq!(node.sim.borrow().drained(), ["m1", "m2"], "{told:?}");
    assert!(told[0].1.contains("partition p"), "{told:?}");
}
