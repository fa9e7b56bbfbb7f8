//! The gates. Each says whether it lets the action through, and why, in one sentence.
use crate::checks::{self, CheckAction};
use crate::pipeline::{Asked, Input};
use crate::still::Looks;
use crate::{
    Case, CauseClass, ClearedBy, ExitStatus, Gate, JobAsk, JobRecord, JobSpan, Mode, NodeRecord, Provenance,
    Verdict, reason,
};

pub(super) fn gate(name: &str, passed: bool, why: impl Into<String>) -> Gate {
    Gate { name: name.to_owned(), passed, why: why.into() }
}

/// Monitor mode holds everything.
pub(super) fn mode(mode: Mode) -> Gate {
    match mode {
        Mode::Act => gate("mode", true, "policy lets this action be carried out"),
        Mode::Monitor => gate("mode", false, "monitor mode: written down, not carried out"),
    }
}

/// What the site says of the check that found the case, where it holds it back. Evidence of another kind that asks for
/// more takes the case out of the check's hands.
pub(super) fn check(input: &Input<'_>, case: &Case) -> Option<Gate> {
    let checking = input.checks.as_ref().filter(|_| case.clears == ClearedBy::CheckPasses)?;
    if let Some(gone) = checks::gone::behind(case, checking.settings, checking.last) {
        return Some(gate("check", false, format!("{}; {}", gone.sentence(), checks::gone::remedy(case))));
    }
    let name = checks::name_of(case.code.as_str())?;
    let setting = checking.settings.named(name, checks::find(name).unwrap_or(&checks::SITE));
    let why = match (setting.mode, setting.action) {
        (Mode::Monitor, _) => format!("[checks.{name}] mode = \"monitor\": written down, not carried out"),
        (Mode::Act, CheckAction::Note) => {
            format!("[checks.{name}] action = \"note\": it may ask for no more")
        }
        (Mode::Act, CheckAction::Refuse | CheckAction::Drain) => return None,
    };
    Some(gate("check", false, why))
}

/// What only a check has told of is acted upon while the check finds it so: not once it finds the thing good, though that must
/// last for a while before the case is closed, and not while it cannot look.
pub(super) fn seen(looks: &Looks, case: &Case) -> Option<Gate> {
    looks.not_bad(case).map(|why| gate("check", false, why))
}

/// What a job can write never reaches a node.
pub(super) fn provenance(case: &Case) -> Gate {
    match case.provenance {
        Provenance::Trusted => gate("provenance", true, "a trusted source says so"),
        Provenance::User => gate("provenance", false, "only what a user can write says so"),
    }
}

/// A person undid our action, or the case is a drill without leave to act.
pub(super) fn stood_down(case: &Case) -> Gate {
    match (case.stood_down, case.synthetic) {
        (false, _) => gate("stand_down", true, "nobody undid an action for this case"),
        (true, true) => gate("stand_down", false, "a drill without --act: nothing is carried out"),
        (true, false) => gate("stand_down", false, case.why.clone()),
    }
}

/// A drain that is not ours is left alone.
pub(super) fn foreign_reason(record: &Asked<NodeRecord>) -> Gate {
    const NAME: &str = "foreign_reason";
    match record {
        Asked::Answer(record) if record.is_out() && !reason::is_ours(&record.reason) => {
            gate(NAME, false, format!("the node is out already: \"{}\"", record.reason))
        }
        Asked::Answer(record) if record.is_out() => gate(NAME, true, "the node is out by our own drain"),
        Asked::Answer(_) => gate(NAME, true, "the node is in service"),
        Asked::NotAsked => gate(NAME, true, "not read in this pass; read again right before acting"),
        Asked::NoAnswer(why) => {
            gate(NAME, true, format!("not known ({why}); read again right before acting"))
        }
    }
}

/// The job's own wish can only lower what the site allows.
pub(super) fn job_ask(span: &JobSpan) -> Gate {
    match span.ask {
        JobAsk::Off => gate("job_ask", false, "the job asked to be left alone (--triage=off)"),
        JobAsk::Monitor => gate("job_ask", false, "the job asked for monitor (--triage=monitor)"),
        JobAsk::Act | JobAsk::Default => gate("job_ask", true, "the job does not object"),
    }
}

/// Only a batch job that may be requeued can be.
pub(super) fn requeue_allowed(job: &Asked<JobRecord>) -> Gate {
    const NAME: &str = "requeue_allowed";
    match job {
        Asked::Answer(job) if !job.batch => {
            gate(NAME, false, "not a batch job: srun and salloc jobs are left alone")
        }
        Asked::Answer(job) if !job.requeue => gate(NAME, false, "the job forbids it (Requeue=0)"),
        Asked::Answer(_) => gate(NAME, true, "a batch job that may be requeued"),
        Asked::NotAsked => gate(NAME, true, "not read in this pass; read again right before acting"),
        Asked::NoAnswer(why) => {
            gate(NAME, true, format!("not known ({why}); read again right before acting"))
        }
    }
}

/// What Slurm or a person ended is not run again.
pub(super) fn job_state(job: &Asked<JobRecord>) -> Gate {
    const NAME: &str = "job_state";
    let Some(job) = job.get() else {
        return gate(NAME, true, "not known; read again right before acting");
    };
    match job.state.as_str() {
        "CANCELLED" => gate(NAME, false, "somebody cancelled the job"),
        "COMPLETED" => gate(NAME, false, "the job went well"),
        "TIMEOUT" | "DEADLINE" => gate(NAME, false, "the job reached its time limit"),
        "PREEMPTED" => gate(NAME, false, "the job was preempted: Slurm sees to it itself"),
        state => gate(NAME, true, format!("the job is {state}")),
    }
}

/// Some exit codes mean "do not run me again".
pub(super) fn exit_code(span: &JobSpan, codes: &[i32]) -> Gate {
    match span.exit {
        Some(ExitStatus::Exit(code)) if codes.contains(&code) => {
            gate("exit_code", false, format!("exit code {code} asks not to be run again"))
        }
        Some(exit) => gate("exit_code", true, format!("{exit} does not forbid it")),
        None => gate("exit_code", true, "no exit code known"),
    }
}

/// A requeue needs a node to keep the job off, else it may meet the same fault again. Trouble between nodes has none.
pub(super) fn culprit_named(verdict: &Verdict) -> Gate {
    match verdict.culprits.first() {
        Some(culprit) => gate("culprit", true, format!("{} is to blame and will be avoided", culprit.node)),
        None if verdict.class == CauseClass::Network => {
            gate("culprit", true, "the network between the nodes is to blame: there is no node to avoid")
        }
        None => gate("culprit", false, "nobody can be named to keep the job away from"),
    }
}

/// A verdict over a drill is for show unless the drill may act.
pub(super) fn drill(verdict: &Verdict, cases: &[Case]) -> Option<Gate> {
    let held = cases.iter().any(|case| verdict.cases.contains(&case.id) && case.synthetic && case.stood_down);
    verdict.synthetic.then(|| {
        gate(
            "drill",
            !held,
            if held { "a drill without --act: nothing is carried out" } else { "a drill that may act" },
        )
    })
}
