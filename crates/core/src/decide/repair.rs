//! The way back into service of a node that we took out. Only the health check walks it, a step a pass, and each step
//! is a choice of the site's (`[repair]` in policy.toml).
//!
//! ```text
//!  acted ──► reset the GPU ──► boot it again, once idle ──► (a person)          open cases
//!              │ once a boot     │ once a case
//!              ▼ proof           ▼ proof                                        detectors/clearing
//!  closed ──► run the site's tests ──► lift our own drain ──► probation         closed cases
//! ```
use super::gates::gate;
use super::{Decided, Draft, bounds, claims};
use crate::pipeline::{Input, Trigger};
use crate::policy::{Command, Step};
use crate::still::Looks;
use crate::{
    Action, Advice, BootId, Case, CaseState, ClearedBy, Gate, Intent, Mode, NodeRecord, Payload, Resource,
    Stamp, Subject, Try, reason,
};

/// Decides about every case for which this node is out.
pub(super) fn decide(input: &Input<'_>, cases: &[Case], looks: &Looks, decided: &mut Decided) {
    let Some(record) = input.node_record.get().filter(|_| input.trigger == Trigger::HealthCheck) else {
        return;
    };
    for out in &input.out {
        let case = cases.iter().find(|case| case.id == out.case.id).unwrap_or(&out.case);
        let way = Way { input, cases, looks, record, case, tries: &out.tries };
        if case.stood_down {
            continue;
        }
        match (case.is_open(), way.is_ours()) {
            (true, true) => way.mend(decided),
            (true, false) if way.is_next() => way.mend(decided),
            (false, true) => way.bring_back(decided),
            (_, false) => {}
        }
    }
}

/// Whether anything about `out` may be decided, so that the controller has to be asked.
pub(crate) fn is_of_interest(input: &Input<'_>) -> bool {
    input.trigger == Trigger::HealthCheck && input.out.iter().any(|out| !out.case.stood_down)
}

/// Named as the rule behind a step that no rule asks for.
const REPAIR: &str = "[repair]";

/// What somebody asks for.
struct Asks<'a> {
    mode: Mode,
    rule: &'a str,
    gates: Vec<Gate>,
    why: &'static str,
}

struct Way<'a, 'i> {
    input: &'a Input<'i>,
    cases: &'a [Case],
    looks: &'a Looks,
    record: &'a NodeRecord,
    case: &'a Case,
    tries: &'a [Try],
}

impl Way<'_, '_> {
    /// The node is out, and by our drain for this very case. A node has room for one reason: with two cases, the other
    /// one waits until this one is mended.
    fn is_ours(&self) -> bool {
        self.record.is_out() && reason::case_of(&self.record.reason).as_ref() == Some(&self.case.id)
    }

    /// The node is out by our drain for a case that is mended, which goes on naming it, and of those that keep it out since this
    /// one was drained for first.
    fn is_next(&self) -> bool {
        let now = |out: &'_ crate::OutCase| {
            self.cases.iter().find(|case| case.id == out.case.id).unwrap_or(&out.case).clone()
        };
        let ours = |case: &Case| !case.stood_down;
        let named = reason::case_of(&self.record.reason);
        let mut known = self.input.out.iter().map(now).filter(ours);
        let is_mended = known.clone().any(|case| !case.is_open() && Some(&case.id) == named.as_ref());
        self.record.is_out()
            && is_mended
            && known.find(Case::is_open).is_some_and(|next| next.id == self.case.id)
    }

    fn mend(&self, decided: &mut Decided) {
        // What its check finds good now needs no more than to stay so.
        if self.case.state != CaseState::Acted || self.looks.not_bad(self.case).is_some() {
            return;
        }
        let repair = &self.input.policy.repair;
        if let Some(mode) = self.mode(repair.reset).filter(|_| self.wants_reset()) {
            let boot = self.input.boot.clone();
            let command = self.for_this_gpu(&repair.reset_command);
            let (node, case) = (self.case.node.clone(), self.case.id.clone());
            self.step(
                decided,
                Intent::Reset,
                mode,
                Vec::new(),
                "the fault asks for a reset of the GPU",
                |decision| Action::Reset { node, case, boot, command, decision },
            );
        } else if let Some(Asks { mode, rule, gates, why }) = self.asks_for_reboot() {
            let boot = self.input.boot.clone();
            let reason = self.record.reason.clone();
            let (node, case) = (self.case.node.clone(), self.case.id.clone());
            self.step_by(decided, (rule, Intent::Reboot), mode, gates, why, |decision| Action::Reboot {
                node,
                case,
                boot,
                reason,
                decision,
            });
        }
    }

    /// Who asks for a reboot: `[repair]`, where the fault itself asks for one, or a rule, for whatever fault.
    fn asks_for_reboot(&self) -> Option<Asks<'_>> {
        let policy = self.input.policy;
        if let Some(mode) = self.mode(policy.repair.reboot).filter(|_| self.wants_reboot(false)) {
            let why = "the fault asks for a reboot";
            return Some(Asks { mode, rule: REPAIR, gates: Vec::new(), why });
        }
        let repeats = claims::repeats(self.input, self.case);
        let matched = policy.rule_for(&claims::of_case(self.input, self.case, repeats.as_deref()));
        if matched.node != Intent::RebootWhenIdle || !self.wants_reboot(true) {
            return None;
        }
        Some(Asks {
            mode: matched.mode_for(&policy.mode, matched.node),
            rule: matched.name,
            gates: bounds::doubt(&matched).into_iter().collect(),
            why: "the rule asks for a reboot of the idle node",
        })
    }

    fn bring_back(&self, decided: &mut Decided) {
        let repair = &self.input.policy.repair;
        let Some(mode) = self.mode(repair.resume) else { return };
        let wanted: Vec<Command> =
            repair.verify.iter().filter(|command| command.is_for(&self.case.fault)).cloned().collect();
        let (node, case) = (self.case.node.clone(), self.case.id.clone());
        let unverified = !wanted.is_empty() && self.tried("verify", Some(&self.input.boot)).is_none();
        if unverified && mode == Mode::Act {
            let (boot, commands) = (self.input.boot.clone(), wanted);
            self.step(
                decided,
                Intent::Verify,
                mode,
                vec![self.no_other_case(), self.not_read_as_bad()],
                "tests before the return",
                |decision| Action::Verify { node, case, boot, commands, decision },
            );
            return;
        }
        let gates = vec![
            self.no_other_case(),
            self.not_read_as_bad(),
            self.verified(!wanted.is_empty()),
            self.not_flapping(),
        ];
        let why = format!("repaired: {}", self.case.why);
        let from_down = self.tried("down", None).is_some_and(|tried| tried.went_well == Some(true));
        self.step(decided, Intent::Resume, mode, gates, &why, |decision| Action::Resume {
            node,
            case,
            from_down,
            decision,
        });
    }

    fn mode(&self, step: Step) -> Option<Mode> {
        step.mode(self.input.policy.mode.of(Intent::Drain))
    }

    fn wants_reset(&self) -> bool {
        matches!(self.case.resource, Resource::Gpu(_))
            && (self.case.advice == Advice::Reset || self.case.clears == ClearedBy::GpuReset)
            && self.case.boot == self.input.boot
            && self.tried("reset", Some(&self.input.boot)).is_none()
    }

    /// Where no reset is wanted, or one did not help; once for a case. Whether a reset helped only a sweep after it can
    /// tell.
    fn wants_reboot(&self, by_rule: bool) -> bool {
        let reset_is_over = match self.tried("reset", Some(&self.input.boot)) {
            None => true,
            Some(Try { went_well: None, .. }) => false,
            Some(Try { went_well: Some(well), at, .. }) => !well || self.swept_since(*at),
        };
        let asks = by_rule
            || matches!(self.case.advice, Advice::Reset | Advice::Reboot)
            || matches!(self.case.clears, ClearedBy::GpuReset | ClearedBy::Reboot);
        asks && reset_is_over && self.case.boot == self.input.boot && self.tried("reboot", None).is_none()
    }

    fn swept_since(&self, at: Stamp) -> bool {
        self.input.observations.iter().any(|seen| matches!(seen.payload, Payload::Nvml(_)) && seen.at > at)
    }

    /// The last try of this kind, in `boot` where one is named.
    fn tried(&self, kind: &str, boot: Option<&BootId>) -> Option<&Try> {
        self.tries.iter().rev().find(|tried| {
            tried.action.kind() == kind && boot.is_none_or(|boot| boot_of(&tried.action) == Some(boot))
        })
    }

    fn for_this_gpu(&self, command: &Command) -> Command {
        let pci = self.case.resource.pci().map(|address| address.to_string()).unwrap_or_default();
        let argument = |text: &String| text.replacen(crate::policy::PCI, &pci, 1);
        Command { command: command.command.iter().map(argument).collect(), ..command.clone() }
    }

    fn step(
        &self,
        decided: &mut Decided,
        intent: Intent,
        mode: Mode,
        gates: Vec<Gate>,
        why: &str,
        action: impl FnOnce(crate::DecisionId) -> Action,
    ) {
        self.step_by(decided, (REPAIR, intent), mode, gates, why, action);
    }

    fn step_by(
        &self,
        decided: &mut Decided,
        (rule, intent): (&str, Intent),
        mode: Mode,
        mut gates: Vec<Gate>,
        why: &str,
        action: impl FnOnce(crate::DecisionId) -> Action,
    ) {
        gates.insert(0, gate("own_drain", true, format!("out by our own drain: \"{}\"", self.record.reason)));
        gates.push(self.idle());
        gates.push(bounds::reservation(&self.input.node_record, &self.input.policy.node.leave_alone_states));
        gates.push(super::gates::mode(mode));
        let draft = Draft {
            subject: Subject::Node(self.case.node.clone()),
            intent,
            rule,
            mode,
            gates,
            case: Some(self.case),
            verdict: None,
            synthetic: self.case.synthetic,
            why: why.to_owned(),
        };
        if let Some(decision) = decided.push(self.input, draft) {
            decided.actions.push(action(decision));
        }
    }

    /// Nothing is reset, booted, tested or brought back under a job that still ends.
    fn idle(&self) -> Gate {
        match self.record.busy() {
            Some(word) => gate("idle", false, format!("the node is still {word}")),
            None => gate("idle", true, "no job is on the node"),
        }
    }

    fn no_other_case(&self) -> Gate {
        // What the site lets a check only note neither takes the node out nor keeps it out.
        let stands = |case: &&Case| {
            case.is_open()
                && case.advice.wants_node_out()
                && !case.stood_down
                && super::gates::check(self.input, case).is_none()
        };
        let other = self.cases.iter().find(stands);
        match other {
            Some(case) => gate(
                "other_case",
                false,
                format!("{} on {} still stands [case {}]", case.code, case.resource, case.id),
            ),
            None => gate("other_case", true, "no other case wants the node out"),
        }
    }

    /// Whoever closed the case: while a sensor reads the very thing as bad, jobs would fail on it. What the site lets the
    /// case's check only note keeps no node out here either.
    fn not_read_as_bad(&self) -> Gate {
        const NAME: &str = "sensor";
        let noted = super::gates::check(self.input, self.case).is_some();
        match self.looks.still_bad(self.case).filter(|_| !noted) {
            Some(why) => gate(NAME, false, format!("{}: {why}", self.case.resource)),
            None => gate(NAME, true, format!("no check reads {} as bad", self.case.resource)),
        }
    }

    fn verified(&self, wanted: bool) -> Gate {
        const NAME: &str = "verified";
        if !wanted {
            return gate(NAME, true, "the site asks for no test");
        }
        match self.tried("verify", Some(&self.input.boot)) {
            Some(Try { went_well: Some(true), answer, .. }) => gate(NAME, true, answer.clone()),
            Some(Try { went_well: Some(false), answer, .. }) => gate(NAME, false, answer.clone()),
            Some(Try { went_well: None, .. }) => gate(NAME, false, "the tests are not over"),
            None => gate(NAME, false, "the tests were not run in this boot"),
        }
    }

    fn not_flapping(&self) -> Gate {
        let repair = &self.input.policy.repair;
        let days = repair.return_days;
        let since = self.input.now.plus_secs(-i64::from(days) * 86_400);
        let count = self.input.returns.iter().filter(|at| **at >= since).count();
        let most = usize::try_from(repair.max_returns).unwrap_or(usize::MAX);
        let told = format!("{count} returns in the last {days} days, at most {most}");
        if count < most {
            return gate("flapping", true, told);
        }
        gate("flapping", false, format!("{told}: a person has to bring it back"))
    }
}

fn boot_of(action: &Action) -> Option<&BootId> {
    match action {
        Action::Reset { boot, .. } | Action::Reboot { boot, .. } | Action::Verify { boot, .. } => Some(boot),
        _ => None,
    }
}
