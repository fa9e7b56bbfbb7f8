//! A node's clock that jumps between the moment an action is wanted and the next pass: it is done once or not at all, and the
//! ledger says which.
use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use tempfile::TempDir;
use triage_core::pipeline::{Output, Trigger};
use triage_core::{BootId, JobSpan, RunId, Stamp};
use triage_hooks::carry::{self, Take};
use triage_hooks::ctx::Ctx;
use triage_hooks::pass::{self, Task};
use triage_host::config::Config;
use triage_host::proc::Root;
use triage_host::testkit::FakeClock;
use triage_ledger::{ClaimRequest, Filter, IntentState, Ledger, Limits, OpenOptions, ProcessId};

use crate::sim::{BEGAN, Sim};
use crate::{config, in_memory, kernel_log, look_at_the_log, prepare, span};

/// The clock when the epilog runs.
const ENDED: i64 = BEGAN + 500;

/// How far the clock jumps before the next pass, seconds: back by years (a dead battery), by hours (a wrong time zone), by a few
/// seconds (set right); and ahead, at most by less than the ledger keeps (`retain_days`).
const JUMPS: [i64; 7] = [-400_000_000, -86_400, -7_200, -30, 30, 7_200, 2_592_000];

/// How long a requeue is wanted, seconds: `expiry` of the pass.
const REQUEUE_WANTED_S: i64 = 300;

/// How far the process got that the epilog was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Died {
    /// Its wishes are written and nothing more.
    BeforeItBegan,
    /// It had claimed the drain and the requeue.
    BeforeItActed,
    /// Slurm had obeyed, and nobody wrote that down.
    AfterItActed,
    /// It did not.
    Never,
}

pub(crate) struct Node {
    folder: TempDir,
    pub(crate) sim: Rc<RefCell<Sim>>,
}

impl Node {
    /// The last node of a job of one node, which lost a GPU.
    pub(crate) fn new() -> Self {
        let folder = in_memory();
        prepare(folder.path(), "act");
        let state = folder.path().join("n1");
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("kern.log"), kernel_log(&"n1".into(), true)).unwrap();
        Self { folder, sim: Sim::of(8) }
    }

    /// One pass by this clock, and what `carry` does with what comes of it.
    pub(crate) fn pass(
        &self,
        clock: &FakeClock,
        trigger: Trigger,
        carry: impl FnOnce(&Ctx<'_>, &mut Ledger, &Output),
    ) {
        let runner = Sim::runner(&self.sim);
        let path = self.folder.path().join("triage.toml");
        let config = Config::parse(&config(self.folder.path()), &path).unwrap().config;
        let limit = Duration::from_secs(60);
        let seams = (clock as &dyn triage_host::clock::Clock, &runner as &dyn triage_host::runner::Runner);
        let root = Root::new(self.folder.path());
        let mut ctx = Ctx::new("triage-epilog", (path, &config), "n1".into(), root, seams, limit).unwrap();
        let mut ledger = open(&ctx.ledger_path(), Stamp::from_secs(BEGAN));
        let span = match trigger {
            Trigger::HealthCheck => None,
            Trigger::Epilog => Some(span(&"n1".into(), 1)),
            Trigger::Prolog => Some(next_job(triage_host::clock::Clock::now(clock))),
        };
        let task = Task { trigger, span, look: &mut look_at_the_log };
        let output = pass::run(&mut ctx, &mut ledger, task).unwrap();
        carry(&ctx, &mut ledger, &output);
    }

    /// The epilog, by a clock that is right.
    pub(crate) fn epilog(&self, died: Died) {
        let clock = FakeClock::at(Stamp::from_secs(ENDED));
        self.pass(&clock, Trigger::Epilog, |ctx, ledger, output| match died {
            Died::BeforeItBegan => {}
            Died::Never => carry::out(ctx, ledger, output, Take::AtOnce),
            Died::BeforeItActed => claim(ledger, output),
            Died::AfterItActed => {
                claim(ledger, output);
                // Slurm's side of it, by an executor that nobody settles.
                let obeyed = |action| self.act(&clock, action);
                output.actions.iter().filter(|action| is_claimed(action)).for_each(obeyed);
            }
        });
    }

    fn act(&self, clock: &FakeClock, action: &triage_core::Action) {
        let runner = Sim::runner(&self.sim);
        let scontrol = triage_host::slurm::Scontrol {
            runner: &runner,
            program: "/usr/bin/scontrol".into(),
            conf: None,
            deadline: Duration::from_secs(3),
        };
        let executor = triage_host::executor::Executor { scontrol, clock, output: None, site: None };
        let until = triage_host::clock::Deadline::after(clock, Duration::from_secs(3));
        assert!(executor.execute(action, until).done);
    }

    /// A health check as the hook does it, by this clock.
    pub(crate) fn health_check(&self, clock: &FakeClock) {
        self.pass(clock, Trigger::HealthCheck, |ctx, ledger, output| {
            carry::out(ctx, ledger, output, Take::AtOnce);
            carry::left_over(ctx, ledger, output);
            ledger.upkeep(&Limits::default(), ctx.now(), Duration::from_secs(5)).unwrap();
        });
    }

    pub(crate) fn policy(&self) -> String {
        fs::read_to_string(self.folder.path().join("policy.toml")).unwrap()
    }

    pub(crate) fn write_policy(&self, text: &str) {
        fs::write(self.folder.path().join("policy.toml"), text).unwrap();
    }

    /// State and answer of every intent of this kind, oldest first.
    pub(crate) fn intents(&self, kind: &str) -> Vec<(IntentState, String)> {
        let ledger = open(&self.folder.path().join("n1/ledger.db"), Stamp::from_secs(BEGAN));
        let mut rows = ledger.actions(&Filter::default()).unwrap();
        rows.sort_by_key(|row| row.id);
        let of = rows.into_iter().filter(|row| row.action.kind() == kind);
        of.map(|row| (row.state, row.answer)).collect()
    }
}

/// Another job of this node and one more, as its prolog begins it.
fn next_job(now: Stamp) -> JobSpan {
    let of_before = span(&"n1".into(), 1);
    let run = RunId { job: 43, start: now, ..of_before.run.clone() };
    JobSpan { run, end: None, exit: None, ..of_before }
}

fn open(path: &std::path::Path, now: Stamp) -> Ledger {
    Ledger::open(path, &OpenOptions::writer(Duration::from_secs(5), now)).unwrap()
}

const fn is_claimed(action: &triage_core::Action) -> bool {
    matches!(action, triage_core::Action::Drain { .. } | triage_core::Action::Requeue { .. })
}

/// Claims drain and requeue for a process that is gone.
fn claim(ledger: &mut Ledger, output: &Output) {
    let now = Stamp::from_secs(ENDED);
    let me = ProcessId { pid: 4_194_305, start: 1, boot: BootId::from("b1") };
    for action in output.actions.iter().filter(|action| is_claimed(action)) {
        let (key, lease_until) = (&action.key(), now.plus_secs(60));
        let request = ClaimRequest { key, now, me: &me, lease_until, alive: &|_| false };
        assert!(matches!(ledger.claim(&request).unwrap(), triage_ledger::Claim::Yours(_)));
    }
}

#[test]
fn whatever_the_clock_does_a_node_is_drained_once_and_its_job_requeued_once_or_not_at_all() {
    for died in [Died::BeforeItBegan, Died::BeforeItActed, Died::AfterItActed, Died::Never] {
        for jump in JUMPS {
            let at = format!("died {died:?}, {jump} s");
            let node = Node::new();
            node.epilog(died);
            let clock = FakeClock::at(Stamp::from_secs(ENDED + jump));
            for _ in 0..3 {
                node.health_check(&clock);
                clock.set_wall(clock_later(&clock));
            }
            once_or_not_at_all(&node, died, jump, &at);
        }
    }
}

fn clock_later(clock: &FakeClock) -> Stamp {
    triage_host::clock::Clock::now(clock).plus_secs(30)
}

fn once_or_not_at_all(node: &Node, died: Died, jump: i64, at: &str) {
    let sim = node.sim.borrow();
    let drains = sim.calls.iter().filter(|call| call.contains("State=DRAIN")).count();
    assert_eq!((drains, sim.drained()), (1, vec!["n1"]), "{at}: {:?}", sim.calls);
    let done = |kind: &str| {
        let intents = node.intents(kind);
        let open = |state: &IntentState| matches!(state, IntentState::Pending | IntentState::Running);
        assert!(!intents.iter().any(|(state, _)| open(state)), "{at}: {intents:?}");
        intents.iter().filter(|(state, _)| *state == IntentState::Done).count()
    };
    assert_eq!(done("drain"), 1, "{at}: {:?}", node.intents("drain"));
    // A requeue is not wanted any more after five minutes; whether a dead process did it is then only said.
    let requeued = sim.made("requeue ");
    let in_time = jump <= REQUEUE_WANTED_S;
    let expected = usize::from(matches!(died, Died::AfterItActed | Died::Never) || in_time);
    assert_eq!(requeued, expected, "{at}: {:?}", sim.calls);
    let says_so = usize::from(in_time || died == Died::Never);
    assert_eq!(done("requeue"), says_so, "{at}: {:?}", node.intents("requeue"));
    if says_so == 0 {
        let intents = node.intents("requeue");
        let told = matches!(intents.as_slice(), [(IntentState::Expired, _)] | [(IntentState::Failed, _)]);
        assert!(told, "{at}: {intents:?}");
    }
}
