//! The kernel killed a process for want of memory.
use crate::arrange::Arrange as _;
use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::ending::Ending;
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, TOGETHER};
use crate::attribute::{Evidence, NodeEvidence, OomKill, oom};
use crate::{CauseClass, Code, Confidence, Event, ExitStatus, Provenance, Stamp, TaskWhat};

/// A process of the job was killed: by its own memory limit, which is the program's doing, or because the machine ran
/// out, which is the program's only when the program held the memory.
pub(super) const OUT_OF_MEMORY: Rule = Rule { name: "out_of_memory", tier: Tier::Specific, judge };

fn judge(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let nodes = scene.evidence.nodes.iter().enumerate();
    let mut kills: Vec<(Stamp, usize, OomKill)> = nodes
        .flat_map(|(node, what)| kills_of(what).into_iter().map(move |kill| (node, kill)))
        .map(|(node, kill)| (scene.moment(node, kill.at), node, kill))
        .filter(|(at, node, kill)| scene.is_within_run(*at) && concerns(scene, *node, *at, kill))
        .collect();
    kills.arrange_by_key(|(at, node, _)| (*at, *node));
    let before_end = |(at, _, _): &&(Stamp, usize, OomKill)| {
        scene.first_sign().is_none_or(|sign| *at <= sign.max(first_death_or_end(scene)).plus_micros(TOGETHER))
    };
    match kills.iter().find(before_end) {
        Some((at, node, kill)) => Some(of_kill(scene, *at, *node, kill)),
        None => (scene.ending == Ending::OutOfMemory).then(|| by_slurms_word(scene)),
    }
}

/// The kernel's reports, or what its events repeat of them where nobody read the reports as a whole.
fn kills_of(what: &NodeEvidence) -> Vec<OomKill> {
    if !what.oom.is_empty() {
        return what.oom.clone();
    }
    let mut reader = oom::Reader::default();
    let trusted =
        |event: &&Event| event.provenance == Provenance::Trusted && event.code.as_str().starts_with("oom.");
    for event in what.events.iter().filter(trusted) {
        reader.line(event.at, &event.text);
    }
    reader.finish()
}

fn first_death_or_end(scene: &Scene<'_>) -> Stamp {
    scene.first_death().map_or_else(|| scene.end(), |death| death.at)
}

/// Whether the kill hit this job: its own cgroup, one of its processes, or a task that went down with it.
fn concerns(scene: &Scene<'_>, node: usize, at: Stamp, kill: &OomKill) -> bool {
    if scene.places.task_of_pid(node, kill.pid).is_some() {
        return true;
    }
    if let Some(job) = job_of(&kill.task_memcg).or_else(|| job_of(&kill.memcg))
        && let Ok(own) = scene.evidence.run.job.parse::<u64>()
    {
        return job == own;
    }
    // A child of a task (a data loader), or a job whose plain id is not known: the task ends with it.
    scene.deaths.iter().any(|death| {
        death.node == node && death.at.micros_since(at).saturating_abs() <= 2 * TOGETHER && death.is_by_kill()
    })
}

/// `4711` of `/system.slice/slurmstepd.scope/job_4711/step_0` and of `/slurm/uid_1000/job_4711/step_0`.
fn job_of(cgroup: &str) -> Option<u64> {
    let after = cgroup.split("/job_").nth(1)?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn of_kill(scene: &Scene<'_>, at: Stamp, node: usize, kill: &OomKill) -> Claim {
    let name = scene.name(node).map_or("", |name| name.as_str());
    let (class, why) = if kill.cgroup {
        (CauseClass::Application, format!("the job outgrew its memory on {name}: its cgroup's limit was met"))
    } else if is_own_doing(kill) {
        (CauseClass::Application, format!("the job's processes filled the memory of {name}"))
    } else {
        (CauseClass::System, format!("{name} ran out of memory, and the job did not hold most of it"))
    };
    let told = kill.cgroup || !kill.by_owner.is_empty();
    let mut claim = Claim::new(class, if told { Confidence::Confirmed } else { Confidence::Probable }, why);
    claim.at = Some(at);
    claim.trusted = true;
    if class == CauseClass::System {
        claim.culprits = vec![(node, None)];
    }
    claim.evidence = vec![evidence(scene, at, node, kill)];
    claim.evidence.extend(victim(scene, at, node, kill));
    claim
}

/// The owner of the killed process also holds the most memory.
fn is_own_doing(kill: &OomKill) -> bool {
    match (kill.by_owner.first(), kill.uid) {
        (Some((most, _)), Some(owner)) => *most == owner,
        _ => false,
    }
}

fn evidence(scene: &Scene<'_>, at: Stamp, node: usize, kill: &OomKill) -> Evidence {
    Evidence {
        time: Some(at),
        node: scene.name(node).cloned(),
        code: Code::from(if kill.cgroup { "kernel.oom_cgroup" } else { "kernel.oom_host" }),
        text: kill.text.clone(),
        provenance: Provenance::Trusted,
        event: None,
    }
}

/// The task that ended by it.
fn victim(scene: &Scene<'_>, at: Stamp, node: usize, kill: &OomKill) -> Option<Evidence> {
    let task = scene.places.task_of_pid(node, kill.pid);
    let by_pid = scene.deaths.iter().find(|death| death.node == node && Some(death.task) == task);
    let nearest =
        || scene.deaths.iter().find(|death| death.node == node && death.at >= at.plus_micros(-TOGETHER));
    by_pid.or_else(nearest).map(|death| scene.obituary(death))
}

fn by_slurms_word(scene: &Scene<'_>) -> Claim {
    let mut claim = Claim::new(
        CauseClass::Application,
        Confidence::Probable,
        "Slurm saw the job's memory limit kill one of its tasks",
    );
    claim.trusted = true;
    claim.at = killed_first(scene).or_else(|| scene.first_sign());
    let said = scene.output().find(|seen| matches!(seen.code(), "slurm.oom" | "slurm.task_oom"));
    claim.evidence = said.into_iter().map(|seen| scene.quote(seen)).collect();
    claim
}

fn killed_first(scene: &Scene<'_>) -> Option<Stamp> {
    scene
        .evidence
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(node, what)| what.tasks.iter().map(move |(at, edge)| (scene.moment(node, *at), edge)))
        .filter(|(_, edge)| edge.what == TaskWhat::End(ExitStatus::Signal(9)))
        .map(|(at, _)| at)
        .min()
}
