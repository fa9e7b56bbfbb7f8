//! A node with its ledger, health check after health check: what each wrote is what the next one finds.
use triage_core::catalog::Catalog;
use triage_core::checks::{CheckSettings, CheckState, Checking, Expect};
use triage_core::facts::NodeFacts;
use triage_core::pipeline::{Asked, Closed, Input, Output, Past, Trigger, step};
use triage_core::policy::Policy;
use triage_core::serd::Engine;
use triage_core::*;

use super::{acting, at, catalog, input, node_record, observe};

/// A node with its ledger, pass after pass.
pub(crate) struct Node {
    pub(crate) catalog: Catalog,
    pub(crate) policy: Policy,
    pub(crate) cases: Vec<Case>,
    pub(crate) engines: Vec<Engine>,
    pub(crate) last: Vec<CheckState>,
    pub(crate) before: Option<NodeFacts>,
    pub(crate) boot: &'static str,
    pub(crate) booted: i64,
    pub(crate) closed: Vec<Closed>,
}

impl Node {
    pub(crate) fn new() -> Self {
        Self {
            catalog: catalog(),
            policy: acting(),
            cases: Vec::new(),
            engines: Vec::new(),
            last: Vec::new(),
            before: None,
            boot: "b1",
            booted: -86_400,
            closed: Vec::new(),
        }
    }

    /// A health check at that second, which reads these lines and facts.
    pub(crate) fn pass(&mut self, secs: i64, facts: &NodeFacts, lines: &[&str]) -> Output {
        let line = |(n, text): (u64, &&str)| Observation {
            cursor: secs.unsigned_abs() * 1_000 + n,
            ..observe(self.boot, at(secs), SourceKind::Kmsg, Payload::Line((*text).to_owned()))
        };
        let lines = (0..).zip(lines).map(line).collect();
        self.pass_with(secs, facts, lines)
    }

    /// The same, with what the sources say as it is.
    pub(crate) fn pass_with(&mut self, secs: i64, facts: &NodeFacts, seen: Vec<Observation>) -> Output {
        let facts = NodeFacts { at: at(secs), boot: BootId::from(self.boot), ..facts.clone() };
        let (expect, settings) = (Expect::default(), CheckSettings::default());
        let output = {
            let mut input: Input<'_> = input(&self.catalog, &self.policy, Trigger::HealthCheck);
            input.now = at(secs);
            input.boot = BootId::from(self.boot);
            input.cases.clone_from(&self.cases);
            input.node_record = Asked::Answer(node_record("IDLE", ""));
            input.past = Past {
                since: Some(at(-99 * 86_400)),
                booted: Some(at(self.booted)),
                engines: self.engines.clone(),
                closed: self.closed.clone(),
                ..Past::default()
            };
            input.observations = seen;
            input.checks = Some(Checking {
                made: true,
                facts: &facts,
                before: self.before.as_ref(),
                expect: &expect,
                baseline: None,
                settings: &settings,
                last: &self.last,
            });
            step(&input)
        };
        for case in &output.cases {
            self.cases.retain(|known| known.id != case.id);
            if case.is_open() {
                self.cases.push(case.clone());
            }
        }
        for engine in &output.engines {
            self.engines.retain(|e| (&e.rule, &e.identity) != (&engine.rule, &engine.identity));
            self.engines.push(engine.clone());
        }
        for state in &output.checks {
            self.last.retain(|known| known.name != state.name);
            self.last.push(state.clone());
        }
        self.before = Some(facts);
        output
    }

    pub(crate) fn only(&self) -> &Case {
        assert_eq!(self.cases.len(), 1, "{:#?}", self.cases);
        &self.cases[0]
    }
}
