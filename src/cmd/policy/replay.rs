//! `slurm-triage policy replay`: another policy over the cases and verdicts of the past.
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use triage_core::arrange::Gather as _;

use serde::Serialize;
use triage_core::catalog::Catalog;
use triage_core::memory::{Memory, PastCase};
use triage_core::pipeline::{Asked, Input, Trigger, weigh};
use triage_core::policy::{Except, Policy};
use triage_core::{
    Case, CaseId, CaseState, Decision, Intent, JobSpan, NodeName, NodeRecord, RunId, Stamp, Subject, Verdict,
    VerdictId,
};
use triage_ledger::{Filter, Load};

use super::{ReplayArgs, Tried};
use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page, Table, counted};
use crate::site::Site;
use crate::view;

/// Gates over what the cluster, the job's record, a person or a check said then, which nobody can ask any more. Where one of
/// them held the decision of then, it holds the one that is made now. docs/policy.md names them.
const AS_THEN: &[&str] = &[
    "operator_hold",
    "stand_down",
    "foreign_reason",
    "reservation",
    "check",
    "brake",
    "requeue_allowed",
    "job_state",
    "drill",
];

/// Most differences shown to a person; JSON has all.
const SHOWN: usize = 40;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    since: Stamp,
    policy: &'a Path,
    /// There is such a file; without it this is the shipped policy.
    present: bool,
    cases: usize,
    verdicts: usize,
    same: usize,
    rules: &'a BTreeMap<String, Count>,
    differences: &'a [Difference],
}

/// How often a rule decided, then and now.
#[derive(Debug, Default, Serialize)]
struct Count {
    then: usize,
    now: usize,
    /// Of those now: what every gate would let through in act mode.
    carried_out_now: usize,
}

/// One subject that is decided about otherwise.
#[derive(Debug, Serialize)]
struct Difference {
    at: Stamp,
    /// The node or the job.
    subject: String,
    case: Option<CaseId>,
    verdict: Option<VerdictId>,
    about: String,
    then: Option<Told>,
    now: Option<Told>,
}

/// A decision in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Told {
    rule: String,
    intent: Intent,
    /// The first gate that held it.
    held_by: Option<String>,
}

impl From<&Decision> for Told {
    fn from(decision: &Decision) -> Self {
        let held_by = decision.held_by().map(|gate| gate.name.clone());
        Self { rule: decision.rule.clone(), intent: decision.intent, held_by }
    }
}

pub(super) fn run(common: &Common, args: &ReplayArgs) -> CmdResult {
    let site = Site::find(common)?;
    let tried = Tried::read(&site, args.policy.as_deref())?;
    let policy = &tried.policy;
    let since = args.since.resolve(site.now);
    let past = Past::read(&site, since)?;
    let catalog = site.catalog().0;
    let mut outcome = Outcome::default();
    past.cases.iter().for_each(|case| past.replay_case(case, (&catalog, policy), &mut outcome));
    past.verdicts.iter().for_each(|verdict| past.replay_verdict(verdict, (&catalog, policy), &mut outcome));
    if common.json {
        render::json(&Document {
            v: view::VERSION,
            node: &site.node,
            at: site.now,
            since,
            policy: &tried.path,
            present: tried.present,
            cases: past.cases.len(),
            verdicts: past.verdicts.len(),
            same: outcome.same,
            rules: &outcome.rules,
            differences: &outcome.differences,
        })?;
    } else {
        let mut page = Page::default();
        tried.tell(&mut page);
        fill(&mut page, &past, &outcome, since);
        render::print(page.text())?;
    }
    Ok(exit::OK)
}

/// What the ledger holds of the time asked about.
struct Past {
    cases: Vec<Case>,
    verdicts: Vec<Verdict>,
    spans: BTreeMap<RunId, JobSpan>,
    by_case: BTreeMap<CaseId, Decision>,
    by_verdict: BTreeMap<VerdictId, Decision>,
    /// When cases of each fault on each resource were opened, oldest first.
    opened: BTreeMap<(String, String), Vec<Stamp>>,
    /// The partitions of jobs that ran on the node: nothing else in the ledger tells those of the node.
    partitions: Vec<String>,
    /// When we brought the node back, for its probation.
    returns: Vec<Stamp>,
}

impl Past {
    fn read(site: &Site, since: Stamp) -> anyhow::Result<Self> {
        let ledger = site.open()?;
        let filter = Filter { since: Some(since), synthetic: Some(false), ..Filter::default() };
        let cases = ledger.cases_without_evidence(&filter)?;
        let verdicts = ledger.verdicts(&filter)?;
        let wanted: BTreeSet<&RunId> = verdicts.iter().map(|verdict| &verdict.run).into_set();
        let spans = ledger.spans(&Filter { since: Some(since), ..Filter::default() })?;
        let mine = spans.iter().filter(|span| span.node == site.node && !span.partition.is_empty());
        let partitions: BTreeSet<String> = mine.map(|span| span.partition.clone()).into_set();
        let spans =
            spans.into_iter().filter(|span| wanted.contains(&span.run)).map(|span| (span.run.clone(), span));
        let spans = spans.into_map();
        let returns = ledger.load(&Load { spans_since: site.now, run: None })?.returns;
        let (mut by_case, mut by_verdict) = (BTreeMap::new(), BTreeMap::new());
        // Oldest first, so the last word of each stays.
        for decision in ledger.decisions(&filter)? {
            match (&decision.subject, decision.case.clone(), decision.verdict.clone()) {
                (Subject::Node(_), Some(case), _) if is_of_a_rule(&decision) => {
                    // A node is set down by way of a drain: of two decisions of one moment the graver one tells.
                    let lesser = |known: &Decision| known.at == decision.at && known.intent > decision.intent;
                    if !by_case.get(&case).is_some_and(lesser) {
                        by_case.insert(case, decision);
                    }
                }
                (Subject::Run(_), _, Some(verdict)) => {
                    by_verdict.insert(verdict, decision);
                }
                _ => {}
            }
        }
        let mut opened: BTreeMap<(String, String), Vec<Stamp>> = BTreeMap::new();
        for case in &cases {
            opened.entry(fault_of(case)).or_default().push(case.opened_at);
        }
        opened.values_mut().for_each(|times| times.sort());
        let partitions = partitions.into_iter().collect();
        Ok(Self { cases, verdicts, spans, by_case, by_verdict, opened, partitions, returns })
    }

    /// What the ledger remembered of this fault then, as far back as any rule asks.
    fn memory_at(&self, case: &Case, policy: &Policy) -> Memory {
        let days = policy.rules.iter().filter_map(|rule| rule.repeats).map(|repeats| repeats.days).max();
        let since = case.last_seen.plus_secs(-i64::from(days.unwrap_or(0)).saturating_mul(86_400));
        let (fault, resource) = fault_of(case);
        let times = self.opened.get(&(fault.clone(), resource.clone())).map_or(&[][..], Vec::as_slice);
        let times = times.get(times.partition_point(|at| *at < since)..).unwrap_or_default();
        let known = times.iter().take_while(|at| **at <= case.last_seen);
        let past = |at: &Stamp| PastCase { fault: fault.clone(), resource: resource.clone(), opened_at: *at };
        Memory { cases: known.map(past).collect(), runs: Vec::new() }
    }

    fn replay_case(&self, case: &Case, (catalog, policy): (&Catalog, &Policy), outcome: &mut Outcome) {
        let then = self.by_case.get(&case.id);
        // As it was before anything was done about it.
        let open = Case { state: CaseState::Open, closed_at: None, stood_down: false, ..case.clone() };
        let place = (case.last_seen, case.node.clone(), case.boot.clone());
        let known = !self.partitions.is_empty();
        let policy = asked(policy, then, (known, true));
        let mut input = Input::new(place, Trigger::HealthCheck, catalog, &policy);
        if known && !was_excepted(then) {
            input.node_record = Asked::Answer(NodeRecord {
                node: case.node.clone(),
                partitions: self.partitions.clone(),
                ..NodeRecord::default()
            });
        }
        if policy.asks_for_history() {
            input.memory = Asked::Answer(self.memory_at(case, &policy));
        }
        input.fleet = Asked::NoAnswer("not asked in a replay".to_owned());
        input.returns.clone_from(&self.returns);
        let decided = weigh(&input, &[open], None).0.into_iter().filter(is_of_a_rule);
        let now = decided.max_by_key(|decision| decision.intent).map(|now| held_as_then(now, then));
        outcome.compare(then, now.as_ref(), || Difference {
            at: case.last_seen,
            subject: format!("node {}", case.node),
            case: Some(case.id.clone()),
            verdict: None,
            about: format!("{} {} {} on {}", case.confidence, case.class, case.code, case.resource),
            then: None,
            now: None,
        });
    }

    fn replay_verdict(
        &self,
        verdict: &Verdict,
        (catalog, policy): (&Catalog, &Policy),
        outcome: &mut Outcome,
    ) {
        let Some(span) = self.spans.get(&verdict.run) else { return };
        let then = self.by_verdict.get(&verdict.id);
        let place = (verdict.at, span.node.clone(), span.boot.clone());
        let policy = asked(policy, then, (!span.partition.is_empty(), false));
        let mut input = Input::new(place, Trigger::Epilog, catalog, &policy);
        input.span = Some(span.clone());
        let decided = weigh(&input, &[], Some(verdict)).0.into_iter();
        let now = decided.into_iter().find(|decision| matches!(decision.subject, Subject::Run(_)));
        let now = now.map(|now| held_as_then(now, then));
        outcome.compare(then, now.as_ref(), || Difference {
            at: verdict.at,
            subject: format!("job {}", verdict.run),
            case: None,
            verdict: Some(verdict.id.clone()),
            about: format!("{} {} {}", verdict.confidence, verdict.class, verdict.grounds.code),
            then: None,
            now: None,
        });
    }
}

/// The policy without the exceptions over what the ledger does not tell: whether the node's partitions and the job's account
/// are `known`. A hook that does not know takes its subject as listed, to be safe; looking back, what was not held then
/// is not.
fn asked<'p>(
    policy: &'p Policy,
    then: Option<&Decision>,
    (partition, account): (bool, bool),
) -> Cow<'p, Policy> {
    if (partition && account) || was_excepted(then) {
        return Cow::Borrowed(policy);
    }
    let Except { partitions, accounts, .. } = &policy.except;
    let except = Except {
        partitions: if partition { partitions.clone() } else { Vec::new() },
        accounts: if account { accounts.clone() } else { Vec::new() },
        ..policy.except.clone()
    };
    Cow::Owned(Policy { except, ..policy.clone() })
}

fn was_excepted(then: Option<&Decision>) -> bool {
    then.is_some_and(|then| then.gates.iter().any(|gate| gate.name == "exception" && !gate.passed))
}

/// The same, held by what held the decision of then and cannot be asked again. The order of the gates stays.
fn held_as_then(mut now: Decision, then: Option<&Decision>) -> Decision {
    let Some(then) = then.filter(|then| then.intent == now.intent) else { return now };
    let held = |gate: &triage_core::Gate| !gate.passed && AS_THEN.contains(&gate.name.as_str());
    for (at, gate) in then.gates.iter().enumerate().filter(|(_, gate)| held(gate)) {
        match now.gates.iter_mut().find(|now| now.name == gate.name) {
            Some(now) => now.clone_from(gate),
            None => now.gates.insert(at.min(now.gates.len()), gate.clone()),
        }
    }
    now
}

fn fault_of(case: &Case) -> (String, String) {
    (case.fault.clone(), case.resource.to_string())
}

/// The way back into service has decisions of its own, which no rule makes.
fn is_of_a_rule(decision: &Decision) -> bool {
    matches!(decision.intent, Intent::None | Intent::Note | Intent::Drain | Intent::Down)
}

#[derive(Default)]
struct Outcome {
    same: usize,
    rules: BTreeMap<String, Count>,
    differences: Vec<Difference>,
}

impl Outcome {
    fn compare(&mut self, then: Option<&Decision>, now: Option<&Decision>, new: impl FnOnce() -> Difference) {
        if let Some(then) = then {
            self.rules.entry(then.rule.clone()).or_default().then += 1;
        }
        if let Some(now) = now {
            let count = self.rules.entry(now.rule.clone()).or_default();
            count.now += 1;
            let carried_out = now.allowed() && !matches!(now.intent, Intent::None | Intent::Note);
            count.carried_out_now += usize::from(carried_out);
        }
        let (then, now) = (then.map(Told::from), now.map(Told::from));
        if then == now {
            self.same += 1;
        } else {
            self.differences.push(Difference { then, now, ..new() });
        }
    }
}

fn fill(page: &mut Page, past: &Past, outcome: &Outcome, since: Stamp) {
    page.line(
        0,
        format_args!(
            "since {}: {} and {}, {} decided as then, {} otherwise",
            render::seconds(since),
            counted(past.cases.len(), "case"),
            counted(past.verdicts.len(), "verdict"),
            outcome.same,
            outcome.differences.len()
        ),
    );
    let mut rules = Table::new(&["RULE", "THEN", "NOW", "CARRIED OUT NOW"]);
    for (rule, count) in &outcome.rules {
        rules.row(vec![
            rule.clone(),
            count.then.to_string(),
            count.now.to_string(),
            count.carried_out_now.to_string(),
        ]);
    }
    page.heading("Rules");
    page.table(1, &rules);
    if outcome.differences.is_empty() {
        return;
    }
    page.heading("Decided otherwise, the latest");
    let mut table = Table::new(&["AT", "SUBJECT", "ABOUT", "THEN", "NOW"]);
    let told = |told: &Option<Told>| match told {
        None => "nothing".to_owned(),
        Some(Told { rule, intent, held_by: None }) => format!("{intent} ({rule})"),
        Some(Told { rule, intent, held_by: Some(gate) }) => format!("{intent} ({rule}), held by {gate}"),
    };
    for difference in outcome.differences.iter().rev().take(SHOWN) {
        table.row(vec![
            render::seconds(difference.at),
            difference.subject.clone(),
            difference.about.clone(),
            told(&difference.then),
            told(&difference.now),
        ]);
    }
    page.table(1, &table);
    if let Some(more) = outcome.differences.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        page.line(1, format_args!("and {more} more, in --json"));
    }
}
