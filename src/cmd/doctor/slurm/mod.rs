//! The hooks in slurm.conf, as the controller has it.
pub(super) mod conf;
mod hooks;
mod topology;

use std::path::PathBuf;
use std::time::Duration;

use triage_host::slurm::ScontrolError;

use super::finding::Findings;
use super::parts::Checkup;
use conf::Conf;
pub(super) use hooks::matching as hooks_matching;

/// Slurm's word for "no limit" in a number of 16 bits.
const NO_LIMIT: u64 = 65_534;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let conf = ask(checkup, findings);
    topology::check(checkup, conf.as_ref(), findings);
    let Some(conf) = conf else { return };
    hooks(checkup, &conf, findings);
    health_check(&conf, findings);
    after_a_refusal(&conf, findings);
    flags(&conf, findings);
    timeouts(checkup, &conf, findings);
}

/// The controller's configuration. scontrol itself waits long, and says little, for want of a slurm.conf.
fn ask(checkup: &Checkup<'_>, findings: &mut Findings) -> Option<Conf> {
    let named = checkup.scontrol().conf.map(PathBuf::from);
    if let Some(path) = named.filter(|path| !path.exists()) {
        let (by, remedy) = if checkup.site.config.slurm.conf.is_some() {
            (
                "[slurm] conf",
                "correct [slurm] conf in triage.toml, or leave it out where scontrol finds its own",
            )
        } else {
            ("SLURM_CONF", "correct SLURM_CONF in the environment")
        };
        let what = format!("{by}: {}: no such file, and scontrol is told to use it", path.display());
        findings.fail(what, remedy);
        return None;
    }
    if checkup.offline {
        findings.note("the controller was not asked (--offline)");
        return None;
    }
    match checkup.scontrol().config() {
        Ok(text) => return Some(Conf::parse(&text)),
        Err(error) if wants_conf(&error) => findings.fail(
            "scontrol finds no slurm.conf",
            "name it in triage.toml, [slurm] conf = \"/path/of/slurm.conf\", or see why scontrol show config fails",
        ),
        Err(error) => {
            findings.fail(error.to_string(), "see that slurmctld answers, or leave it out with --offline");
        }
    }
    None
}

/// Words of Slurm for a slurm.conf that is neither where it looks nor to be fetched.
const NO_CONF: [&str; 2] = ["fetch_config", "establish a configuration source"];

fn wants_conf(error: &ScontrolError) -> bool {
    matches!(error, ScontrolError::Refused { text, .. } if NO_CONF.iter().any(|word| text.contains(word)))
}

fn hooks(checkup: &Checkup<'_>, conf: &Conf, findings: &mut Findings) {
    let folder = conf.folder();
    for (key, program, what) in [
        ("Prolog", "triage-prolog", "no run is recorded, and no job is kept off a bad node"),
        ("Epilog", "triage-epilog", "nothing is judged at a job's end"),
        (
            "HealthCheckProgram",
            "triage-healthcheck",
            "nobody looks between jobs, and what was left over is not settled",
        ),
    ] {
        let values = conf.all(key);
        let ours = checkup.site.config.paths.libexec.join(program);
        let remedy = format!("{key}={} in slurm.conf (docs/install.md)", ours.display());
        match values.iter().map(|value| hooks::runs(value, &folder, program)).max() {
            None => findings.fail(format!("{key} is not set: {what}"), remedy),
            Some(hooks::Runs::Directly) => findings.ok(format!("{key}={}", values.join(" "))),
            Some(hooks::Runs::Through) => {
                findings.ok(format!("{key}={}, which runs {program}", values.join(" ")))
            }
            Some(hooks::Runs::CannotTell) => findings.warn(
                format!("{key}={}: whether it runs {program} cannot be seen from here", values.join(" ")),
                "run doctor as root, on a compute node",
            ),
            Some(hooks::Runs::No) => {
                findings.fail(format!("{key}={} does not run {program}: {what}", values.join(" ")), remedy);
            }
        }
    }
}

fn health_check(conf: &Conf, findings: &mut Findings) {
    match conf.number("HealthCheckInterval") {
        Some(0) | None => findings.fail(
            "HealthCheckInterval is 0: the health check is never run",
            "HealthCheckInterval=60 in slurm.conf",
        ),
        Some(seconds) => findings.ok(format!("HealthCheckInterval={seconds}")),
    }
    let states = conf.words("HealthCheckNodeState");
    let has = |state: &str| states.iter().any(|word| word.eq_ignore_ascii_case(state));
    let told = states.join(",");
    if !has("ANY") {
        findings.warn(
            format!("HealthCheckNodeState={told} leaves nodes out: busy or drained ones are not looked at"),
            "HealthCheckNodeState=ANY,CYCLE in slurm.conf",
        );
    } else if !has("CYCLE") {
        findings.note(format!(
            "HealthCheckNodeState={told}: with CYCLE not all nodes would be asked in the same second"
        ));
    } else {
        findings.ok(format!("HealthCheckNodeState={told}"));
    }
}

fn after_a_refusal(conf: &Conf, findings: &mut Findings) {
    let parameters = conf.words("SchedulerParameters");
    if parameters.contains(&"nohold_on_prolog_fail") {
        findings.ok("SchedulerParameters has nohold_on_prolog_fail");
    } else {
        findings.warn(
            "SchedulerParameters lacks nohold_on_prolog_fail: a job that is refused on a bad node is held",
            "add nohold_on_prolog_fail to SchedulerParameters in slurm.conf: the job then starts elsewhere by itself",
        );
    }
    if conf.number("JobRequeue") == Some(0) {
        findings.note("JobRequeue=0: only jobs submitted with --requeue can be put back to work");
    }
}

fn flags(conf: &Conf, findings: &mut Findings) {
    let flags = conf.words("PrologFlags");
    let has = |flag: &str| flags.iter().any(|word| word.eq_ignore_ascii_case(flag));
    if !["Alloc", "Contain", "X11", "DeferBatch"].iter().any(|flag| has(flag)) {
        findings.note("PrologFlags without Alloc: the prolog runs with a node's first step, and not on nodes without one");
    }
    if has("RunInJob") {
        findings.note("PrologFlags=RunInJob: the hooks run inside of the job's cgroup and see its GPUs only");
    }
}

/// slurmd ends a hook that takes too long, and drains the node for it. Our own deadline has to come first.
fn timeouts(checkup: &Checkup<'_>, conf: &Conf, findings: &mut Findings) {
    let ours = &checkup.site.config.deadlines;
    let pairs: [(&[&str], &str, Duration); 3] = [
        (&["PrologTimeout", "PrologEpilogTimeout"], "deadlines.prolog_ms", ours.prolog),
        (&["EpilogTimeout", "PrologEpilogTimeout"], "deadlines.epilog_ms", ours.epilog),
        (&["HealthCheckTimeout"], "deadlines.healthcheck_ms", ours.healthcheck),
    ];
    for (keys, name, deadline) in pairs {
        let limit =
            keys.iter().find_map(|key| Some((*key, conf.number(key).filter(|n| *n > 0 && *n < NO_LIMIT)?)));
        if let Some((key, seconds)) = limit.filter(|(_, seconds)| Duration::from_secs(*seconds) <= deadline) {
            findings.warn(
                format!(
                    "{key}={seconds} s ends a hook before its own deadline of {} ms ({name})",
                    deadline.as_millis()
                ),
                format!("raise {key} in slurm.conf, or lower {name} in triage.toml"),
            );
        }
    }
}
