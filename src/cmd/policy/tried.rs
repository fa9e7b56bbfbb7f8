//! `slurm-triage policy test`: which rule fires, and which gates would hold.
use std::path::Path;

use anyhow::bail;
use serde::Serialize;
use triage_core::attribute::attribute;
use triage_core::catalog::Catalog;
use triage_core::checks::Checking;
use triage_core::facts::NodeFacts;
use triage_core::pipeline::{Input, Trigger, weigh};
use triage_core::policy::Policy;
use triage_core::{
    BootId, CauseClass, Code, Culprit, Decision, Gate, NodeName, Provenance, Resource, Stamp, Subject,
};

use super::scene::{self, Cause, Fault};
use super::{TestArgs, Tried, codes};
use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::Site;
use crate::view::{self, DecisionView};

/// What the policy makes of one thing asked about.
struct Answer {
    asked: String,
    decisions: Vec<Decision>,
}

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    policy: &'a Path,
    /// There is such a file; without it this is the shipped policy.
    present: bool,
    answers: Vec<AnswerView<'a>>,
}

#[derive(Serialize)]
struct AnswerView<'a> {
    asked: &'a str,
    decisions: Vec<DecisionView<'a>>,
}

pub(super) fn run(common: &Common, args: &TestArgs) -> CmdResult {
    let site = Site::find(common)?;
    let tried = Tried::read(&site, args.policy.as_deref())?;
    let (catalog, facts) = (site.catalog().0, NodeFacts::default());
    let checks = Checking {
        made: false,
        facts: &facts,
        before: None,
        expect: &site.config.expect,
        baseline: None,
        settings: &site.config.checks,
        last: &[],
    };
    let test = Test { site: &site, args, catalog: &catalog, policy: &tried.policy, checks };
    let answers = match args.what.as_slice() {
        [bundle] if Path::new(bundle).is_dir() => test.bundle(Path::new(bundle))?,
        codes => codes.iter().map(|code| test.code(code)).collect::<anyhow::Result<_>>()?,
    };
    if common.json {
        let views = answers.iter().map(|answer| AnswerView {
            asked: &answer.asked,
            decisions: answer.decisions.iter().map(DecisionView::from).collect(),
        });
        let (v, node, at) = (view::VERSION, &site.node, site.now);
        let (policy, present) = (&tried.path, tried.present);
        render::json(&Document { v, node, at, policy, present, answers: views.collect() })?;
    } else {
        let mut page = Page::default();
        tried.tell(&mut page);
        answers.iter().for_each(|answer| tell(&mut page, answer));
        render::print(page.text())?;
    }
    Ok(exit::OK)
}

struct Test<'a> {
    site: &'a Site,
    args: &'a TestArgs,
    catalog: &'a Catalog,
    policy: &'a Policy,
    /// What the site says of single checks holds here as well.
    checks: Checking<'a>,
}

impl Test<'_> {
    fn code(&self, code: &str) -> anyhow::Result<Answer> {
        let Some(worth) = codes::worth(self.catalog, &self.site.config.checks, code) else {
            let meant = codes::meant(self.catalog, code).unwrap_or_else(|| {
                "`slurm-triage scan` tells the codes of a log, `checks` those of checks".to_owned()
            });
            bail!("{code} is neither a code nor a folder: {meant}");
        };
        let family = code.split('.').next().unwrap_or_default();
        let resource = match family {
            "xid" | "nvml" => Resource::from("gpu:0000:61:00.0"),
            _ if code.starts_with("check.gpu_") => Resource::from("gpu:0000:61:00.0"),
            _ => Resource::Host,
        };
        let fault = Fault {
            node: self.site.node.clone(),
            code: Code::from(code),
            class: self.args.class.unwrap_or(worth.class),
            confidence: self.args.confidence.unwrap_or(worth.confidence),
            advice: worth.advice,
            resource: self.args.resource.clone().unwrap_or(resource),
            provenance: if self.args.user_evidence { Provenance::User } else { Provenance::Trusted },
        };
        let own = matches!(fault.class, CauseClass::Hardware | CauseClass::System);
        let culprit = Culprit { node: fault.node.clone(), resource: Some(fault.resource.clone()) };
        let cause = Cause {
            class: fault.class,
            confidence: fault.confidence,
            code: fault.code.clone(),
            resource: fault.resource.clone(),
            culprits: if own { vec![culprit] } else { Vec::new() },
            trusted: fault.provenance == Provenance::Trusted,
        };
        let asked = format!(
            "{code}: {} {}, {} evidence on {}, asks for {}",
            fault.confidence, fault.class, fault.provenance, fault.resource, fault.advice
        );
        let nodes = vec![fault.node.clone()];
        let mut decisions = self.about_node(&fault);
        decisions.extend(self.about_job(&cause, nodes));
        Ok(Answer { asked, decisions })
    }

    fn bundle(&self, folder: &Path) -> anyhow::Result<Vec<Answer>> {
        let bundle = triage_bundle::read(folder, self.catalog)?;
        let found = attribute(&bundle.evidence);
        let mut answers = Vec::new();
        for fault in &found.faults {
            let fault = Fault {
                node: fault.node.clone(),
                code: fault.code.clone(),
                class: fault.class,
                confidence: self.args.confidence.unwrap_or(fault.confidence),
                advice: fault.advice,
                resource: fault.resource.clone(),
                provenance: Provenance::Trusted,
            };
            let asked = format!(
                "{} on {} {}: {} {}, asks for {}",
                fault.code, fault.node, fault.resource, fault.confidence, fault.class, fault.advice
            );
            answers.push(Answer { asked, decisions: self.about_node(&fault) });
        }
        let (code, resource) = found.lead();
        let cause = Cause {
            class: self.args.class.unwrap_or(found.class),
            confidence: self.args.confidence.unwrap_or(found.confidence),
            code,
            resource,
            culprits: found.culprits.clone(),
            trusted: found.trusted,
        };
        let asked = format!("job {}: {} {} cause", bundle.evidence.run.job, cause.confidence, cause.class);
        let nodes = bundle.evidence.nodes.iter().map(|node| node.node.clone()).collect();
        answers.push(Answer { asked, decisions: self.about_job(&cause, nodes) });
        Ok(answers)
    }

    fn input(&self, node: &NodeName, trigger: Trigger) -> Input<'_> {
        let place = (self.site.now, node.clone(), BootId::from("policy-test"));
        let mut input = Input::new(place, trigger, self.catalog, self.policy);
        scene::at_their_best(&mut input, self.args);
        input.checks = Some(self.checks);
        input
    }

    fn about_node(&self, fault: &Fault) -> Vec<Decision> {
        let input = self.input(&fault.node, Trigger::HealthCheck);
        let case = fault.case(self.catalog.fault_of(fault.code.as_str()), self.site.now);
        weigh(&input, &[case], None).0.into_iter().filter(|d| matches!(d.subject, Subject::Node(_))).collect()
    }

    fn about_job(&self, cause: &Cause, nodes: Vec<NodeName>) -> Vec<Decision> {
        let node = nodes.first().unwrap_or(&self.site.node).clone();
        let mut input = self.input(&node, Trigger::Epilog);
        let span = scene::span(self.args, &node, nodes, self.site.now);
        let verdict = cause.verdict(&span.run, self.site.now);
        input.span = Some(span);
        weigh(&input, &[], Some(&verdict)).0
    }
}

fn tell(page: &mut Page, answer: &Answer) {
    page.heading(&answer.asked);
    if answer.decisions.is_empty() {
        page.line(1, "nothing: the rule that matches says none");
    }
    for decision in &answer.decisions {
        let whom = match &decision.subject {
            Subject::Node(node) => format!("node {node}"),
            Subject::Run(_) => "the job".to_owned(),
        };
        let held = decision
            .held_by()
            .map_or_else(|| "every gate lets it through".to_owned(), |gate| format!("held by {}", gate.name));
        page.line(1, format_args!("{whom}: {} by rule {}, {held}", decision.intent, decision.rule));
        for gate in &decision.gates {
            let word = if gate.passed { "passed" } else { "held  " };
            page.line(2, format_args!("{word} {}: {}", gate.name, gate.why));
            if let Some(option) = option_for(gate, &decision.subject) {
                page.line(2, format_args!("       {option} NAME says it"));
            }
        }
    }
}

/// The option that tells what a gate holds for not knowing. Of a node nobody knows an account: only a job has one.
fn option_for(gate: &Gate, subject: &Subject) -> Option<&'static str> {
    let asked =
        [("partition", "--partition"), ("account", "--account"), ("QOS", "--qos"), ("user", "--user")];
    let asked = if matches!(subject, Subject::Node(_)) { &asked[..1] } else { &asked[..] };
    let unknown = !gate.passed && gate.why.contains("not known");
    asked.iter().find(|(fact, _)| unknown && gate.why.contains(fact)).map(|(_, option)| *option)
}
