//! What waits to be done and is not wanted any more when its turn comes.
use triage_core::pipeline::Trigger;
use triage_core::{Case, CaseState, Stamp};
use triage_hooks::carry::{self, Take};
use triage_host::testkit::FakeClock;
use triage_ledger::{Batch, Load};

use crate::clock_jumps::{Died, Node};
use crate::sim::BEGAN;

/// The epilog that wanted it died, and before the next pass the site went back to monitor mode, or broke its policy.
#[test]
fn what_waits_is_not_carried_out_in_monitor_mode() {
    for policy in ["version = 1\n[mode]\ndefault = \"monitor\"\n", "version = "] {
        let node = Node::new();
        node.epilog(Died::BeforeItBegan);
        node.write_policy(policy);
        let clock = FakeClock::at(Stamp::from_secs(BEGAN + 530));
        node.health_check(&clock);
        let sim = node.sim.borrow();
        let changes = sim.made("update") + sim.made("requeue");
        assert_eq!((changes, sim.drained()), (0, vec![]), "{policy}: {:?}", sim.calls);
    }
}

/// Back in act mode, what is still wanted is done.
#[test]
fn what_waited_through_monitor_mode_is_done_when_the_site_acts_again() {
    let node = Node::new();
    node.epilog(Died::BeforeItBegan);
    let acting = node.policy();
    node.write_policy("version = 1\n[mode]\ndefault = \"monitor\"\n");
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 530));
    node.health_check(&clock);
    node.write_policy(&acting);
    clock.set_wall(Stamp::from_secs(BEGAN + 590));
    node.health_check(&clock);
    assert_eq!(node.sim.borrow().drained(), ["n1"], "{:?}", node.intents("drain"));
}

/// The fault was proven repaired while the controller was away.
#[test]
fn a_drain_that_waits_is_not_carried_out_for_a_case_that_has_closed() {
    let node = Node::new();
    node.epilog(Died::BeforeItBegan);
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 530));
    node.pass(&clock, Trigger::Epilog, |ctx, ledger, _| {
        let known = ledger.load(&Load { spans_since: ctx.now(), run: None }).unwrap();
        let (state, closed_at) = (CaseState::Resolved, Some(ctx.now()));
        let cases: Vec<Case> =
            known.cases.into_iter().map(|case| Case { state, closed_at, ..case }).collect();
        assert_eq!(cases.len(), 1);
        let batch = Batch { cases: &cases, ..Batch::new(ctx.now(), &ctx.node, &ctx.boot, "t") };
        let _ = ledger.record(&batch).unwrap();
    });
    clock.set_wall(Stamp::from_secs(BEGAN + 560));
    node.health_check(&clock);
    assert!(node.sim.borrow().drained().is_empty(), "{:?}", node.sim.borrow().calls);
}

/// What a job is called is its owner's, and says nothing of the controller.
#[test]
fn a_name_that_tears_the_jobs_record_does_not_put_off_the_drain() {
    let node = Node::new();
    node.sim.borrow_mut().name_job("x\nJobId=77 JobName=y");
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 500));
    node.pass(&clock, Trigger::Epilog, |ctx, ledger, output| carry::out(ctx, ledger, output, Take::AtOnce));
    let sim = node.sim.borrow();
    assert_eq!((sim.drained(), sim.made("requeue")), (vec!["n1"], 0), "{:?}", sim.calls);
}
