//! `slurm-triage policy test`: which rule fires, and which gates would hold.
use std::path::Path;

use anyhow::bail;
use serde::Serialize;
use triage_core::attribute::attribute;
use triage_core::catalog::Catalog;
use triage_core::pipeline::{Input, Trigger, weigh};
use triage_core::policy::Policy;
use triage_core::{
    BootId, CauseClass, Code, Culprit, Decision, NodeName, Provenance, Resource, Stamp, Subject,
};

use super::scene::{self, Cause, Fault};
use super::{TestArgs, policy_of};
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
    answers: Vec<AnswerView<'a>>,
}

#[derive(Serialize)]
struct AnswerView<'a> {
    asked: &'a str,
    decisions: Vec<DecisionView<'a>>,
}

pub(super) fn run(common: &Common, args: &TestArgs) -> CmdResult {
    let site = Site::find(common)?;
    let (path, policy) = policy_of(&site, args.policy.as_deref())?;
    let catalog = site.catalog().0;
    let test = Test { site: &site, args, catalog: &catalog, policy: &policy };
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
        render::json(&Document { v, node, at, policy: &path, answers: views.collect() })?;
    } else {
        let mut page = Page::default();
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
}

impl Test<'_> {
    fn code(&self, code: &str) -> anyhow::Result<Answer> {
        let Some(entry) = self.catalog.entry(code) else {
            bail!(
                "{code} is neither a code of the catalogue nor a folder: `slurm-triage scan` tells the codes of a log"
            );
        };
        let family = code.split('.').next().unwrap_or_default();
        let resource = match family {
            "xid" | "nvml" => Resource::from("gpu:0000:61:00.0"),
            _ => Resource::Host,
        };
        let fault = Fault {
            node: self.site.node.clone(),
            code: Code::from(code),
            class: self.args.class.unwrap_or(entry.class),
            confidence: self.args.confidence.unwrap_or(entry.confidence),
            advice: entry.action,
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
        }
    }
}
