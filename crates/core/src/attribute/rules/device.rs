//! A part of one node broke, says a trusted source.
use crate::arrange::Arrange as _;
use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::ending::Death;
use crate::attribute::faults::{Blamed, Faults};
use crate::attribute::scene::{Scene, TOGETHER, is_gpu, tally};
use crate::{Advice, CauseClass, Confidence, Resource, Stamp};

/// A fault of a node that a trusted source reports, at the right time to have ended the run.
pub(super) const NODE_FAULT: Rule = Rule { name: "node_fault", tier: Tier::Specific, judge };

/// A GPU that the run did not have broke. That is no proof: the run never used it, as far as is known. But a CUDA
/// start-up looks at all GPUs of its node.
pub(super) const GPU_BESIDE: Rule = Rule { name: "gpu_beside", tier: Tier::Rest, judge: gpu_beside };

/// Faults that reach beyond their GPU: links end on other GPUs, and with one GPU off the bus new CUDA processes can
/// fail on the whole node (reports from the field: CUDA error 999 on every GPU of it).
const SHARED: &[&str] = &[
    "xid.79",
    "nvidia.gpu_off_bus",
    "nvml.gpu_lost",
    "xid.74",
    "xid.144",
    "xid.145",
    "xid.146",
    "xid.147",
    "xid.148",
    "xid.149",
    "xid.150",
];

/// How long before the first death a fault may lie when nothing tells when the run stood still. NCCL's default time-out
/// is ten minutes, PyTorch's thirty; a fault hours before with the job running on is not what ended it.
const BEFORE_DEATH: i64 = 45 * 60 * 1_000_000;

/// How long before an operation stalled, where the time-outs tell when it did: an iteration of a large model.
const BEFORE_STALL: i64 = 5 * 60 * 1_000_000;

/// How long before a task ended that said itself what its program did wrong.
const BEFORE_CLEAR_ERROR: i64 = 60_000_000;

/// How long after an operation stalled the kernel may take to say why: GSP time-outs are printed after up to a minute,
/// hung tasks after two.
const LATE_WORD: i64 = 180_000_000;

/// Faults this close on one node are one fault with several witnesses, microseconds.
const ONE_FAULT: i64 = 120_000_000;

/// The same fault on at least so many nodes of one job is a matter of software, not of so many broken parts.
pub(in crate::attribute) const EPIDEMIC: usize = 3;

fn judge(scene: &Scene<'_>, faults: &Faults) -> Option<Claim> {
    let explaining: Vec<&Blamed> = faults.list.iter().filter(|blamed| explains(scene, blamed)).collect();
    let first = explaining.first()?;
    if let Some(claim) = epidemic(&explaining) {
        return Some(claim);
    }
    let lead = witness(&explaining, first);
    let mut claim = Claim::new(
        lead.fault.class,
        lead.fault.confidence,
        format!("{} of {} failed: {}", lead.fault.resource, lead.fault.node, headline(lead)),
    );
    claim.at = if was_there(scene, first) { scene.first_sign() } else { Some(first.fault.at) };
    claim.trusted = true;
    claim.culprits = vec![(lead.node, Some(lead.fault.resource.clone()))];
    claim.culprits.extend(
        explaining
            .iter()
            .filter(|other| {
                other.node != lead.node && abreast(other, first) && other.fault.code == lead.fault.code
            })
            .map(|other| (other.node, Some(other.fault.resource.clone()))),
    );
    let same_fault = |other: &&&Blamed| other.node == lead.node && abreast_within(other, first, ONE_FAULT);
    claim.evidence = explaining.iter().filter(same_fault).flat_map(|other| other.evidence.clone()).collect();
    Some(claim)
}

fn headline(lead: &Blamed) -> String {
    let says = lead.evidence.iter().find(|e| e.code == lead.fault.code).or_else(|| lead.evidence.first());
    says.map_or_else(|| lead.fault.code.to_string(), |e| format!("{} \"{}\"", e.code, short(&e.text)))
}

/// A line that fits into a story.
fn short(text: &str) -> &str {
    let end = text.char_indices().nth(120).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn abreast(a: &Blamed, b: &Blamed) -> bool {
    abreast_within(a, b, TOGETHER)
}

const fn abreast_within(a: &Blamed, b: &Blamed, micros: i64) -> bool {
    a.fault.at.micros_since(b.fault.at).saturating_abs() <= micros
}

/// Whether the run is known not to have had the GPU.
fn is_beside(scene: &Scene<'_>, blamed: &Blamed) -> bool {
    is_gpu(&blamed.fault.resource)
        && scene.places.uses_gpu(scene.evidence, blamed.node, &blamed.fault.resource) == Some(false)
}

/// Whether the fault of a GPU beside the run's can have ended it: by what it is, and because a task of that node ended
/// soon after it. A process that ran on for long had no need of that GPU.
fn reaches_beyond(scene: &Scene<'_>, blamed: &Blamed) -> bool {
    let soon = |at: Stamp| at.micros_since(blamed.fault.at) <= BEFORE_STALL;
    let here = |death: &Death| death.node == blamed.node;
    let first =
        scene.first_death().map_or_else(|| Some(scene.end()), |death| here(&death).then_some(death.at));
    SHARED.contains(&blamed.fault.code.as_str()) && first.is_some_and(soon)
}

/// Whether the fault can have ended the run.
pub(super) fn explains(scene: &Scene<'_>, blamed: &Blamed) -> bool {
    if scene.came_after(blamed.node, blamed.fault.at) {
        return false;
    }
    if is_beside(scene, blamed) && !reaches_beyond(scene, blamed) {
        return false;
    }
    is_near_the_end(scene, blamed)
}

/// Whether the fault is grave enough, and at the right time, to have ended the run.
fn is_near_the_end(scene: &Scene<'_>, blamed: &Blamed) -> bool {
    let fault = &blamed.fault;
    if fault.advice < Advice::Requeue || fault.confidence < Confidence::Probable {
        return false;
    }
    // A service that fails while a run is there ends only runs that need it, and those end on its node first.
    let elsewhere = |death: Death| death.node != blamed.node;
    if matches!(fault.resource, Resource::Service(_))
        && (scene.first_death().is_none_or(elsewhere) || !was_needed(scene, blamed))
    {
        return false;
    }
    let Some(sign) = scene.first_sign() else { return true };
    let first_death = scene.first_death();
    let latest = sign.plus_micros(LATE_WORD);
    let latest = first_death.map_or(latest, |death| latest.min(death.at.plus_micros(TOGETHER)));
    let early = sign.plus_micros(-reach(scene, sign));
    // A run of which nothing is heard until somebody ends it may have stood still since the fault.
    let stood_still = scene.is_silent_until_taken_down() && fault.advice.wants_node_out();
    let in_time = (fault.at >= early || stood_still) && fault.at <= latest;
    (in_time && scene.is_within_run(fault.at)) || was_there(scene, blamed)
}

fn gpu_beside(scene: &Scene<'_>, faults: &Faults) -> Option<Claim> {
    let told = |blamed: &&Blamed| {
        let slurm = scene.evidence.nodes.get(blamed.node).map(|node| node.beside.as_slice());
        slurm.unwrap_or_default().contains(&blamed.fault.resource)
    };
    let in_time =
        |blamed: &&Blamed| !scene.came_after(blamed.node, blamed.fault.at) && is_near_the_end(scene, blamed);
    let blamed = faults.list.iter().filter(told).find(in_time)?;
    let why = format!(
        "{} of {}, a GPU the job did not have, failed: {}",
        blamed.fault.resource,
        blamed.fault.node,
        headline(blamed)
    );
    let mut claim = Claim::new(blamed.fault.class, Confidence::Suspected, why);
    claim.at = Some(blamed.fault.at);
    claim.trusted = true;
    claim.culprits = vec![(blamed.node, Some(blamed.fault.resource.clone()))];
    claim.evidence = blamed.evidence.clone();
    Some(claim)
}

/// How far before the first sign a fault may lie.
fn reach(scene: &Scene<'_>, sign: Stamp) -> i64 {
    match scene.first_death() {
        _ if scene.first_to_end_said_why() => BEFORE_CLEAR_ERROR,
        Some(death) if death.at.micros_since(sign) > BEFORE_CLEAR_ERROR => BEFORE_STALL,
        _ => BEFORE_DEATH,
    }
}

/// A lasting state, there before the run or seen only after it, explains what its own node did first and nothing else:
/// not what a program did wrong by its own word, and a service that failed only what needs it.
fn was_there(scene: &Scene<'_>, blamed: &Blamed) -> bool {
    let undated = blamed.fault.at < scene.evidence.run.start || blamed.only_seen_after;
    let ended_first = scene.first_death().is_some_and(|death| death.node == blamed.node);
    blamed.lasting && undated && ended_first && was_needed(scene, blamed) && !scene.first_to_end_said_why()
}

/// Whether the job complains of what the failed service is there for; other parts everybody needs. GPUs that cannot be
/// used are the matter of services of the GPUs' fabric, all else of the others. Of what merely watches nobody has need.
fn was_needed(scene: &Scene<'_>, blamed: &Blamed) -> bool {
    const FABRIC: &[&str] = &["fabricmanager", "imex", "nvlsm"];
    const WATCHERS: &[&str] = &[
        "dcgm",
        "hostengine",
        "exporter",
        "persistenced",
        "nvsm",
        "rasdaemon",
        "mcelog",
        "irqbalance",
        "chrony",
        "ntpd",
    ];
    let Resource::Service(name) = &blamed.fault.resource else { return true };
    let is_one_of = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let of_gpus = |code: &str| ["cuda.", "nccl.", "nvml."].iter().any(|prefix| code.starts_with(prefix));
    !is_one_of(WATCHERS)
        && scene.output().any(|seen| {
            seen.event.class == CauseClass::System
                && of_gpus(seen.code()) == is_one_of(FABRIC)
                && scene.places.origin(seen).is_none_or(|node| node == blamed.node)
        })
}

/// The same code on many nodes at once.
fn epidemic(explaining: &[&Blamed]) -> Option<Claim> {
    let mut pairs: Vec<(&str, usize)> =
        explaining.iter().map(|blamed| (blamed.fault.code.as_str(), blamed.node)).collect();
    pairs.arrange();
    pairs.dedup();
    let (code, nodes) =
        tally(pairs.iter().map(|(code, _)| *code)).into_iter().max_by_key(|(_, nodes)| *nodes)?;
    if nodes < EPIDEMIC {
        return None;
    }
    let mut claim = Claim::new(
        CauseClass::System,
        Confidence::Probable,
        format!("{code} on {nodes} nodes of one job: software they share, not {nodes} broken parts"),
    );
    claim.trusted = true;
    claim.at = explaining.iter().map(|blamed| blamed.fault.at).min();
    claim.evidence = explaining
        .iter()
        .filter(|blamed| blamed.fault.code.as_str() == code)
        .flat_map(|blamed| blamed.evidence.first().cloned())
        .collect();
    Some(claim)
}

/// Of several parts of one node that complain together, the one that is the cause.
fn witness<'a>(explaining: &[&'a Blamed], first: &'a Blamed) -> &'a Blamed {
    let together: Vec<&Blamed> = explaining
        .iter()
        .copied()
        .filter(|other| other.node == first.node && abreast_within(other, first, ONE_FAULT))
        .collect();
    let gpus = together.iter().filter(|other| is_gpu(&other.fault.resource)).count();
    let rank = |other: &Blamed| match &other.fault.resource {
        // One link has two ends; a switch at which several GPUs complain is the common one.
        Resource::NvSwitch(_) if gpus != 1 => 0,
        Resource::Gpu(_) | Resource::GpuIndex(_) => 1,
        Resource::NvSwitch(_) => 2,
        Resource::Nic(_) | Resource::Disk(_) | Resource::Dimm(_) => 3,
        Resource::Cpu(_) => 4,
        // A port complains for the device behind it.
        Resource::Pci(_) => 5,
        _ => 6,
    };
    let key = |other: &&Blamed| (rank(other), std::cmp::Reverse(other.fault.advice), other.fault.at);
    together.iter().copied().min_by_key(key).unwrap_or(first)
}
