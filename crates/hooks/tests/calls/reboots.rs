//! Repairs that were asked for and took whoever asked for them along, or were killed, before that could be written down.
use triage_core::pipeline::Trigger;
use triage_core::{Action, BootId, Stamp};
use triage_hooks::carry;
use triage_host::testkit::FakeClock;
use triage_ledger::{Batch, Claim, ClaimRequest, IntentState, NewIntent, ProcessId};

use crate::clock_jumps::Node;
use crate::sim::BEGAN;

#[test]
fn a_node_that_was_booted_since_is_not_booted_once_more() {
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 500));
    let node = Node::new();
    node.pass(&clock, Trigger::HealthCheck, |ctx, ledger, output| {
        let before = BootId::from("b0");
        assert_ne!(ctx.boot, before);
        let action = Action::Reboot {
            node: ctx.node.clone(),
            case: "0a1b2c3d".into(),
            boot: before.clone(),
            reason: "slurm-triage: xid.95 gpu:0000:61:00.0 [case 0a1b2c3d]".to_owned(),
            decision: "d1".into(),
        };
        let (key, now) = (action.key(), ctx.now());
        let intents = [NewIntent { action, expires: now.plus_secs(3_600), synthetic: false }];
        let _ = ledger
            .record(&Batch { intents: &intents, ..Batch::new(now, &ctx.node, &ctx.boot, "t") })
            .unwrap();
        let me = ProcessId { pid: 4_194_305, start: 1, boot: before };
        let request =
            ClaimRequest { key: &key, now, me: &me, lease_until: now.plus_secs(60), alive: &|_| true };
        assert!(matches!(ledger.claim(&request).unwrap(), Claim::Yours(_)));
        carry::left_over(ctx, ledger, output);
    });
    assert_eq!(node.sim.borrow().made("reboot "), 0, "{:?}", node.sim.borrow().calls);
    assert_eq!(node.intents("reboot"), [(IntentState::Done, "the node was booted since".to_owned())]);
}

#[test]
fn a_reboot_that_could_not_be_asked_for_yet_is_not_forgotten() {
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 500));
    let node = Node::new();
    node.sim.borrow_mut().lose("n1");
    node.pass(&clock, Trigger::HealthCheck, |ctx, ledger, output| {
        let action = Action::Reboot {
            node: ctx.node.clone(),
            case: "0a0b0c0d".into(),
            boot: ctx.boot.clone(),
            reason: "slurm-triage: xid.79 gpu [case 0a0b0c0d]".to_owned(),
            decision: "d1".into(),
        };
        let now = ctx.now();
        let intents = [NewIntent { action, expires: now.plus_secs(3_600), synthetic: false }];
        let batch = Batch { intents: &intents, ..Batch::new(now, &ctx.node, &ctx.boot, "t") };
        let _ = ledger.record(&batch).unwrap();
        carry::left_over(ctx, ledger, output);
    });
    assert_eq!(node.intents("reboot"), [(IntentState::Pending, "the node is MIXED".to_owned())]);
}

#[test]
fn a_reset_whose_process_was_killed_is_begun_again_and_one_that_goes_on_is_not() {
    let clock = FakeClock::at(Stamp::from_secs(BEGAN + 500));
    let node = Node::new();
    node.pass(&clock, Trigger::HealthCheck, |ctx, ledger, output| {
        let action = Action::Reset {
            node: ctx.node.clone(),
            case: "0a0b0c0d".into(),
            boot: ctx.boot.clone(),
            command: triage_core::policy::Command::default(),
            decision: "d1".into(),
        };
        let (key, now) = (action.key(), ctx.now());
        let intents = [NewIntent { action, expires: now.plus_secs(3_600), synthetic: false }];
        let batch = Batch { intents: &intents, ..Batch::new(now, &ctx.node, &ctx.boot, "t") };
        let _ = ledger.record(&batch).unwrap();
        let forgotten = |ledger: &triage_ledger::Ledger| carry::forgotten(ctx, ledger, output).len();
        assert_eq!(forgotten(ledger), 1, "nobody began it");
        let [lives, dead] =
            [4_194_304, 4_194_305].map(|pid| ProcessId { pid, start: 1, boot: ctx.boot.clone() });
        std::fs::create_dir_all(ctx.root.at("/proc/4194304")).unwrap();
        let stat = format!("4194304 (x) S {}1 0", "0 ".repeat(18));
        std::fs::write(ctx.root.at("/proc/4194304/stat"), stat).unwrap();
        for (me, lives) in [(lives, true), (dead, false)] {
            let lease_until = now.plus_secs(60);
            let request = ClaimRequest { key: &key, now, me: &me, lease_until, alive: &|_| false };
            assert!(matches!(ledger.claim(&request).unwrap(), Claim::Yours(_)));
            assert_eq!(forgotten(ledger), usize::from(!lives));
        }
    });
}
