//! What the job's own processes said before they ended: the first error that is not an echo of another one.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::ending::Death;
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, TOGETHER, is_gpu, may_be_blamed};
use crate::attribute::{Discounted, Evidence, Fault, OutputEvent, states};
use crate::{Advice, CauseClass, Confidence, Event, Resource, Role, Stamp};

/// The rank that ended first said why: an exception, an assertion, a segmentation fault, out of memory. What the other
/// ranks print afterwards are echoes.
pub(super) const FIRST_ERROR: Rule = Rule { name: "first_error", tier: Tier::Specific, judge };

/// Errors printed longer after the first death are of the teardown, microseconds.
const ECHO: i64 = 5_000_000;

/// What Slurm's own word for the end of the job tells better than a line that anybody can print.
const IS_NO_ERROR: &[&str] = &["slurm.time_limit", "slurm.node_failure"];

/// Errors that keep every program from starting on a node and say nothing of the program.
const NODE_SETUP: &[&str] = &[
    "cuda.not_initialized",
    "cuda.no_device",
    "cuda.driver_mismatch",
    "cuda.insufficient_driver",
    "cuda.compat",
    "cuda.unknown",
    "cuda.busy",
    "nvml.mismatch",
    "nvml.device_handle",
    "nccl.nvls",
    "slurm.launch_failed",
    "slurm.container",
    "os.dns",
    "os.no_space",
    "os.io_error",
    "os.stale_handle",
    "os.not_connected",
    "python.import_error",
    "python.missing_file",
];

/// What a node's own trusted sources may say that makes the job's word on its set-up believable: errors in the output,
/// and the codes that agree with them.
const WITNESSES: &[(&[&str], &[&str])] = &[
    (
        &[
            "cuda.driver_mismatch",
            "cuda.insufficient_driver",
            "cuda.no_device",
            "cuda.unknown",
            "cuda.busy",
            "nvml.",
        ],
        &[
            "nvidia.version_mismatch",
            "nvidia.module_refused",
            "nvidia.init_failed",
            "nvidia.probe_failed",
            "nvml.",
        ],
    ),
    (&["cuda.not_initialized", "nccl.nvls"], &["fabric.", "service.failed", "nvml.fabric"]),
    (
        &["os.", "python.missing_file", "python.import_error"],
        &["lustre.", "nfs.", "netfs.", "gpfs.", "fs.", "disk.", "raid."],
    ),
    (&["os.dns", "slurm."], &["service."]),
];

/// One thing that may have ended the run.
struct Candidate<'a> {
    at: Option<Stamp>,
    trusted: bool,
    class: CauseClass,
    code: &'a str,
    node: Option<usize>,
    rank: Option<u32>,
    evidence: Evidence,
}

fn judge(scene: &Scene<'_>, faults: &Faults) -> Option<Claim> {
    let mut discounted = Vec::new();
    let mut candidates = printed(scene, faults, &mut discounted);
    candidates.extend(logged(scene));
    candidates.retain(|candidate| is_no_echo(scene, candidate));
    let first = earliest(scene, &candidates)?;
    let same: Vec<&Candidate<'_>> = candidates.iter().filter(|other| other.code == first.code).collect();
    let mut claim = describe(scene, first, &same);
    claim.discounted = discounted;
    Some(claim)
}

/// Errors in the job's output that its process did not survive.
fn printed<'a>(scene: &Scene<'a>, faults: &Faults, discounted: &mut Vec<Discounted>) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    let place = place_of_first_deaths(scene);
    let sights = sights(scene, faults);
    for seen in scene.output().filter(|seen| may_be_blamed(&seen.event)) {
        if seen.event.class == CauseClass::Network || IS_NO_ERROR.contains(&seen.code()) {
            continue;
        }
        if let Some(why) = contradicted(scene, &sights, seen) {
            discounted.push(Discounted { evidence: scene.quote(seen), count: seen.count, why });
            continue;
        }
        candidates.push(Candidate {
            at: scene.written(seen),
            trusted: false,
            class: seen.event.class,
            code: seen.event.code.as_str(),
            node: spoken_of(scene, seen).or_else(|| scene.places.origin(seen)).or(place),
            rank: scene.places.rank(seen),
            evidence: scene.quote(seen),
        });
    }
    candidates
}

/// The node that srun names as the one on which it could not start the step: it is not the one that printed the line.
fn spoken_of(scene: &Scene<'_>, seen: &OutputEvent) -> Option<usize> {
    let node = seen.field("node").filter(|_| seen.code() == "slurm.launch_failed")?;
    scene.places.host(node)
}

/// Where lines come from that do not say: the one node on which all tasks ended that ended first, by their own doing.
fn place_of_first_deaths(scene: &Scene<'_>) -> Option<usize> {
    let first = scene.first_failure()?;
    if scene.said_first == Some(first) {
        return Some(first.node);
    }
    let together = || scene.deaths.iter().filter(|d| !d.is_by_kill() && d.at.micros_since(first.at) <= ECHO);
    together().all(|death| death.node == first.node).then_some(first.node).filter(|_| together().count() > 0)
}

/// What each node's trusted sources have to say to a job that calls a device broken.
#[derive(Clone, Copy)]
enum Sight {
    /// They say so too.
    Agrees,
    /// They were read, and say nothing of the kind.
    Contradicts,
    /// They could not have known.
    Blind,
}

fn sights(scene: &Scene<'_>, faults: &Faults) -> Vec<Sight> {
    let mut sights: Vec<Sight> = (0..scene.evidence.nodes.len())
        .map(|node| match scene.evidence.nodes.get(node) {
            _ if nvml_word(scene, node).is_some() => Sight::Agrees,
            Some(what) if what.kernel_read => Sight::Contradicts,
            _ => Sight::Blind,
        })
        .collect();
    for blamed in &faults.list {
        let of_a_gpu =
            is_gpu(&blamed.fault.resource) || matches!(blamed.fault.resource, Resource::NvSwitch(_));
        if of_a_gpu
            && scene.is_within_run(blamed.fault.at)
            && let Some(sight) = sights.get_mut(blamed.node)
        {
            *sight = Sight::Agrees;
        }
    }
    sights
}

/// A job that says a device is broken is believed only where no trusted source could have known better: the kernel and
/// NVML of a node that reports no such thing know better.
fn contradicted(scene: &Scene<'_>, sights: &[Sight], seen: &OutputEvent) -> Option<String> {
    if seen.event.class != CauseClass::Hardware {
        return None;
    }
    let contradicts = |sight: &Sight| matches!(sight, Sight::Contradicts);
    let all = match scene.places.origin(seen) {
        Some(node) => sights.get(node).is_some_and(contradicts),
        None => !sights.is_empty() && sights.iter().all(contradicts),
    };
    all.then(|| "only the job says so: kernel log and NVML of the node show no such thing".to_owned())
}

/// What NVML holds against a GPU of a node after the run, whether it would be enough alone or not.
fn nvml_word(scene: &Scene<'_>, node: usize) -> Option<Event> {
    states::of_node(scene, node).into_iter().find(|event| {
        event.class == CauseClass::Hardware && matches!(event.role, Role::Root | Role::Confirmation)
    })
}

/// Errors of the job's processes that the kernel logged: a segmentation fault, a GPU's exception for its own program.
fn logged<'a>(scene: &Scene<'a>) -> Vec<Candidate<'a>> {
    scene
        .all_events()
        .into_iter()
        .filter(|(_, _, event)| event.class == CauseClass::Application && may_be_blamed(event))
        // Whose memory it was is another rule's question.
        .filter(|(_, _, event)| !event.code.as_str().starts_with("oom."))
        .filter(|(at, node, event)| is_of_the_job(scene, *at, *node, event))
        .map(|(at, node, event)| Candidate {
            at: Some(at),
            trusted: true,
            class: event.class,
            code: event.code.as_str(),
            node: Some(node),
            rank: pid_of(event).and_then(|pid| scene.places.task_of_pid(node, pid)),
            evidence: scene.cite(at, event),
        })
        .collect()
}

fn pid_of(event: &Event) -> Option<u32> {
    event.fields.get("pid")?.parse().ok()
}

/// Whether the kernel speaks of a process of this job. Children of tasks and ranks of launchers have process ids that
/// nobody recorded; for them it must be a GPU of the job, or the moment at which its node's tasks ended.
fn is_of_the_job(scene: &Scene<'_>, at: Stamp, node: usize, event: &Event) -> bool {
    if pid_of(event).is_some_and(|pid| scene.places.task_of_pid(node, pid).is_some()) {
        return true;
    }
    if is_gpu(&event.resource) {
        return scene.places.uses_gpu(scene.evidence, node, &event.resource) != Some(false);
    }
    let in_time = |death: &Death| {
        death.node == node
            && death.at.micros_since(at) >= -TOGETHER
            && death.at.micros_since(at) <= 10 * TOGETHER
    };
    event.code.as_str().starts_with("process.") && scene.first_death().as_ref().is_some_and(in_time)
}

/// Whether the error may have come before everything else: it is of the rank that ended first, or not later than that.
fn is_no_echo(scene: &Scene<'_>, candidate: &Candidate<'_>) -> bool {
    let Some(death) = scene.first_failure() else { return true };
    candidate.rank.is_some_and(|rank| scene.failed_first(rank))
        || candidate.at.is_none_or(|at| at <= death.at.plus_micros(ECHO))
}

/// The earliest; of those abreast the one that says most.
fn earliest<'a, 'b>(scene: &Scene<'_>, candidates: &'b [Candidate<'a>]) -> Option<&'b Candidate<'a>> {
    let fallback = scene.first_failure().map(|death| death.at).or(scene.evidence.run.end).unwrap_or_default();
    let time = |candidate: &Candidate<'_>| candidate.at.unwrap_or(fallback);
    // An error of unclear cause counts only where nobody says anything clear in time: a bare launch failure is
    // explained by the assertion that another line of the same rank reports.
    let clear = |candidate: &&Candidate<'_>| candidate.class != CauseClass::Unknown;
    let pool: Vec<&Candidate<'_>> = candidates.iter().collect();
    let first_clear = pool.iter().copied().filter(clear).min_by_key(|candidate| time(candidate));
    let first = pool.iter().copied().min_by_key(|candidate| time(candidate))?;
    let lead = match first_clear {
        Some(clear) if time(clear) <= time(first).plus_micros(10 * TOGETHER) => clear,
        _ => first,
    };
    let abreast = pool.into_iter().filter(|other| {
        time(other).micros_since(time(lead)).saturating_abs() <= TOGETHER
            && (other.class != CauseClass::Unknown || lead.class == CauseClass::Unknown)
    });
    let first_to_fail =
        |candidate: &Candidate<'_>| candidate.rank.is_some_and(|rank| scene.failed_first(rank));
    abreast.min_by_key(|candidate| (!candidate.trusted, !first_to_fail(candidate), time(candidate)))
}

fn describe(scene: &Scene<'_>, first: &Candidate<'_>, same: &[&Candidate<'_>]) -> Claim {
    let ranks: BTreeSet<u32> = same.iter().filter_map(|candidate| candidate.rank).into_set();
    let nodes: BTreeSet<usize> = same.iter().filter_map(|candidate| candidate.node).into_set();
    let who = match (first.rank, ranks.len()) {
        (_, many) if many > 1 => format!("{many} ranks"),
        (Some(rank), _) => format!("rank {rank}"),
        (None, _) => "the job".to_owned(),
    };
    let lone_node = only_node(scene, first, &nodes);
    let class = match (first.class, lone_node) {
        (CauseClass::Application, Some(_)) if NODE_SETUP.contains(&first.code) => CauseClass::System,
        (class, _) => class,
    };
    let confidence = match class {
        CauseClass::Application if first.trusted || !ranks.is_empty() => Confidence::Probable,
        CauseClass::Application | CauseClass::System if lone_node.is_none() => Confidence::Probable,
        // The job's own word names a node, or blames a device: that is a suspicion.
        _ => Confidence::Suspected,
    };
    let mut claim =
        Claim::new(class, confidence, format!("{who} failed first: {}", headline(&first.evidence.text)));
    claim.at = first.at;
    claim.trusted = first.trusted;
    claim.evidence = vec![first.evidence.clone()];
    claim
        .evidence
        .extend(same.iter().find(|other| other.trusted != first.trusted).map(|c| c.evidence.clone()));
    claim.evidence.extend(scene.first_failure().map(|death| scene.obituary(&death)));
    if let Some((node, (at, event))) =
        lone_node.and_then(|node| Some((node, witness(scene, first.code, node)?)))
        && class == CauseClass::System
    {
        claim.trusted = true;
        claim.confidence = Confidence::Probable;
        claim.evidence.push(scene.cite(at, event));
        claim.faults.extend(setup_fault(
            scene,
            node,
            at,
            event,
            claim.why.first().cloned().unwrap_or_default(),
        ));
    }
    let nvml = first.node.filter(|_| class == CauseClass::Hardware).and_then(|node| nvml_word(scene, node));
    if let (Some(node), Some(event)) = (first.node, nvml) {
        return agreed_by_nvml(scene, node, &event, claim);
    }
    match class {
        CauseClass::System => claim.culprits.extend(lone_node.map(|node| (node, None))),
        CauseClass::Hardware => claim.culprits.extend(first.node.map(|node| (node, None))),
        _ => {}
    }
    claim
}

/// The job calls a GPU broken, and NVML holds something against one of that node.
fn agreed_by_nvml(scene: &Scene<'_>, node: usize, event: &Event, mut claim: Claim) -> Claim {
    claim.trusted = true;
    claim.confidence = Confidence::Probable;
    claim.culprits = vec![(node, Some(event.resource.clone()))];
    claim.evidence.push(scene.cite(event.at, event));
    let why = claim.why.first().cloned().unwrap_or_default();
    claim.faults.extend(scene.name(node).map(|name| Fault {
        node: name.clone(),
        resource: event.resource.clone(),
        code: event.code.clone(),
        class: CauseClass::Hardware,
        confidence: Confidence::Probable,
        advice: event.advice.max(Advice::Reset),
        at: claim.at.unwrap_or(event.at),
        ended_run: true,
        why,
    }));
    claim
}

/// What the node says itself, and no other node of the job, that agrees with the job's word on its set-up.
fn witness<'a>(scene: &Scene<'a>, code: &str, node: usize) -> Option<(Stamp, &'a Event)> {
    let starts = |prefixes: &[&str], code: &str| prefixes.iter().any(|prefix| code.starts_with(prefix));
    let agreeing = |event: &Event| {
        matches!(event.role, Role::Root | Role::Either | Role::Confirmation)
            && WITNESSES
                .iter()
                .any(|(said, agrees)| starts(said, code) && starts(agrees, event.code.as_str()))
    };
    let found = |of: usize| {
        scene
            .events(of)
            .find(|(at, event)| agreeing(event) && scene.is_of_this_boot(of, event) && *at <= scene.end())
    };
    let elsewhere = (0..scene.evidence.nodes.len()).any(|other| other != node && found(other).is_some());
    found(node).filter(|_| !elsewhere)
}

/// A node on which nothing starts is of no use to anybody.
fn setup_fault(scene: &Scene<'_>, node: usize, at: Stamp, event: &Event, why: String) -> Option<Fault> {
    // A filesystem that one client lost comes back, or others lose it too: that is no fault of the node.
    let lasting = !matches!(event.resource, Resource::Fs(_));
    lasting.then_some(Fault {
        node: scene.name(node)?.clone(),
        resource: event.resource.clone(),
        code: event.code.clone(),
        class: CauseClass::System,
        confidence: Confidence::Probable,
        advice: Advice::Drain,
        at,
        ended_run: true,
        why,
    })
}

/// The one node all these errors come from, when they are of the kind that a node's set-up causes and the job has
/// other nodes with nothing of the kind.
fn only_node(scene: &Scene<'_>, first: &Candidate<'_>, nodes: &BTreeSet<usize>) -> Option<usize> {
    let setup = NODE_SETUP.contains(&first.code) || first.class == CauseClass::System;
    // On the only node there is nothing to compare with: the job's own container may bring the wrong libraries.
    let alone = nodes.len() == 1 && scene.evidence.nodes.len() > 1;
    let node = *nodes.first().filter(|_| setup && alone)?;
    // One rank of eight that misses a file is that rank's business; all ranks of one node are the node's.
    (first.class != CauseClass::Application || whole_node(scene, first.code, node)).then_some(node)
}

/// Whether more than one rank of the node says the same.
fn whole_node(scene: &Scene<'_>, code: &str, node: usize) -> bool {
    let ranks: BTreeSet<u32> = scene
        .output()
        .filter(|seen| seen.code() == code && scene.places.origin(seen) == Some(node))
        .filter_map(|seen| scene.places.rank(seen))
        .into_set();
    let ended = scene.deaths.iter().filter(|death| death.node == node && !death.is_by_kill()).count();
    let said = if ranks.is_empty() { ended } else { ranks.len() };
    let expected = scene.evidence.run.ranks_per_node.unwrap_or(1);
    said > 1 && u32::try_from(said).is_ok_and(|said| said >= expected.div_ceil(2))
}

/// A line that fits into a story.
fn headline(text: &str) -> &str {
    let end = text.char_indices().nth(110).map_or(text.len(), |(at, _)| at);
    &text[..end]
}
