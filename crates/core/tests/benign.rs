//! A healthy node's log through the whole pipeline, pass after pass: no drain, and no case.
#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]
#[path = "../../catalog/tests/healthy/mod.rs"]
mod healthy_log;
mod support;

use std::collections::BTreeMap;

use healthy_log::{BOOT, Dice, ordinary};
use support::*;
use triage_core::catalog::Catalog;
use triage_core::pipeline::{Asked, Input, Past, Trigger, step};
use triage_core::*;

/// Seconds between two lines, in microseconds: some ten thousand lines an hour, a busy container host.
const PACE_US: i64 = 370_000;

/// Lines between two boots: about four days.
const LINES_A_BOOT: u64 = 1_000_000;

/// A node that logs, and the passes over it.
struct Node {
    catalog: Catalog,
    policy: policy::Policy,
    dice: Dice,
    now: Stamp,
    booted: Stamp,
    boots: u32,
    lines: u64,
    past: Past,
    cases: Vec<Case>,
    seen: BTreeMap<String, (CauseClass, Confidence)>,
    events: u64,
}

impl Node {
    fn new(seed: u64) -> Self {
        Self {
            catalog: catalog(),
            policy: acting(),
            dice: Dice(seed),
            now: at(0),
            booted: at(0),
            boots: 0,
            lines: 0,
            past: Past { since: Some(at(-86_400)), ..Past::default() },
            cases: Vec::new(),
            seen: BTreeMap::new(),
            events: 0,
        }
    }

    /// Five minutes of its log, and the health check after them; the bytes of it.
    fn five_minutes(&mut self) -> usize {
        let mut bytes = 0;
        let mut seen = Vec::new();
        if self.lines.is_multiple_of(LINES_A_BOOT) {
            self.boots += 1;
            self.booted = self.now;
            for text in BOOT {
                let when = self.booted.plus_micros(i64::try_from(self.dice.roll(60_000_000)).unwrap());
                bytes += self.take(when, text, &mut seen);
            }
            self.now = self.booted.plus_secs(60);
        }
        for _ in 0..800 {
            let mut text = String::new();
            ordinary(&mut self.dice, &mut text);
            self.now = self.now.plus_micros(PACE_US);
            for text in text.lines() {
                bytes += self.take(self.now, text, &mut seen);
            }
            self.lines += 1;
        }
        self.check(seen);
        bytes
    }

    /// As the reader does: a line without a literal of any family is not even copied.
    fn take(&self, when: Stamp, text: &str, seen: &mut Vec<Observation>) -> usize {
        if self.catalog.candidates(catalog::Origin::Kernel, text.as_bytes()).next().is_some() {
            let mut line = line(when, text);
            line.boot = BootId::new(format!("b{}", self.boots));
            line.cursor = self.lines * 8 + seen.len() as u64;
            seen.push(line);
        }
        text.len() + 1
    }

    fn check(&mut self, seen: Vec<Observation>) {
        let mut input: Input<'_> = input(&self.catalog, &self.policy, Trigger::HealthCheck);
        input.now = self.now;
        input.boot = BootId::new(format!("b{}", self.boots));
        input.observations = seen;
        input.cases.clone_from(&self.cases);
        input.past = Past { booted: Some(self.booted), ..self.past.clone() };
        input.node_record = Asked::Answer(node_record("MIXED", ""));
        // One user's programs, one after another, that fail as programs do.
        let mut span = span(&["n1"], None);
        (span.run.job, span.run.start) = (u32::try_from(self.lines % 90_000).unwrap() + 1, self.booted);
        input.spans = vec![span];
        let output = step(&input);
        assert!(output.actions.is_empty(), "{:?}", output.actions);
        self.events += output.events.len() as u64;
        for engine in output.engines {
            self.past.engines.retain(|e| (&e.rule, &e.identity) != (&engine.rule, &engine.identity));
            if !engine.occurrences.is_empty() || engine.fired_at.is_some() {
                self.past.engines.push(engine);
            }
        }
        for case in output.cases {
            self.cases.retain(|c| c.id != case.id);
            self.seen.insert(format!("{} on {}", case.code, case.resource), (case.class, case.confidence));
            if case.is_open() {
                self.cases.push(case);
            }
        }
    }

    fn assert_well(&self) {
        assert!(self.events > 0, "the generator wrote nothing that is recognised: it tests nothing");
        assert!(self.seen.is_empty(), "{:#?}", self.seen);
    }
}

#[test]
fn half_a_day_of_a_healthy_node_make_no_case_and_no_drain() {
    let mut node = Node::new(11);
    for _ in 0..140 {
        node.five_minutes();
    }
    node.assert_well();
}

/// As many bytes as `TRIAGE_BENIGN_BYTES` says; a gigabyte takes some minutes in a release build.
#[test]
fn as_much_of_healthy_logs_as_asked_for_makes_no_case_and_no_drain() {
    let Some(wanted) = std::env::var("TRIAGE_BENIGN_BYTES").ok().and_then(|text| text.parse::<usize>().ok())
    else {
        return;
    };
    let mut node = Node::new(5);
    let mut bytes = 0;
    while bytes < wanted {
        bytes += node.five_minutes();
    }
    node.assert_well();
    println!("{bytes} bytes, {} lines, {} boots, {} events, no case", node.lines, node.boots, node.events);
}
