//! From `main` to the pass: arguments, configuration, supervisor. Whatever goes wrong on the way, slurmd gets a 0.
use std::io::Write;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use triage_core::NodeName;
use triage_core::policy::Policy;
use triage_host::clock::SystemClock;
use triage_host::config::{Config, Deadlines};
use triage_host::proc::Root;
use triage_host::runner::SystemRunner;

use crate::args::{self, HookArgs};
use crate::ctx::{self, Ctx};
use crate::overdue;
use crate::supervise::{Ended, supervise};
use triage_ledger::Level;

/// What a hook is.
pub struct Hook {
    /// The executable's name.
    pub program: &'static str,
    /// Its deadline in the configuration.
    pub limit: fn(&Deadlines) -> Duration,
    /// The pass; returns what slurmd is to be told: 0, or 1 to refuse a job.
    pub pass: fn(&mut Ctx<'_>) -> u8,
    /// What it answers to an order for a drill, where it takes any.
    pub drill: Option<fn(&'static str, &Path, &str) -> String>,
}

/// Runs the hook as slurmd's child. Only a pass that says so exits with anything but 0: Slurm drains the node of a
/// prolog or epilog that exits with anything else, and a panic of ours exits with 101.
pub fn run(hook: &Hook) -> ExitCode {
    catch_unwind(|| crate::output::child().unwrap_or_else(|| begin(hook))).unwrap_or(ExitCode::SUCCESS)
}

fn begin(hook: &Hook) -> ExitCode {
    let asked = match args::parse(hook.program, std::env::args_os().skip(1)) {
        Ok(asked) => asked,
        Err(error) => {
            complain(&format!("{}: {error}", hook.program));
            return ExitCode::SUCCESS;
        }
    };
    match asked {
        HookArgs::Print(text) => {
            let _ = writeln!(std::io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        HookArgs::Run { config } => under_supervision(hook, &config),
        HookArgs::Drill { config, order } => {
            match hook.drill {
                Some(drill) => {
                    let _ = writeln!(std::io::stdout(), "{}", drill(hook.program, &config, &order));
                }
                None => complain(&format!("{}: --drill is for triage-healthcheck", hook.program)),
            }
            ExitCode::SUCCESS
        }
        HookArgs::Finish { config, key } => {
            crate::finish::run(hook.program, &config, &key);
            ExitCode::SUCCESS
        }
    }
}

/// Says it where slurmd looks. Nobody may be listening there, or the disk behind it be full: no reason to panic, which
/// `eprintln!` would take it for.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn under_supervision(hook: &Hook, path: &Path) -> ExitCode {
    let Read { config, complaints, usable } = read_config(path);
    triage_host::log::init(hook.program, &config.log);
    let limit = (hook.limit)(&config.deadlines);
    let run_folder = node_name().and_then(|node| config.for_node(&node).ok()).map(|config| config.paths.run);
    let ended = supervise(limit, || work(hook, path, &config, complaints, usable));
    let trouble = match ended {
        Ended::Said(code) => return ExitCode::from(code),
        Ended::Overdue => {
            format!("{} was not done within {} ms and was left behind", hook.program, limit.as_millis())
        }
        Ended::Died => format!("{} died before it was done", hook.program),
        Ended::NotStarted => format!("{} could not start its worker", hook.program),
    };
    complain(&trouble);
    if let Some(run) = run_folder {
        overdue::leave(&run, hook.program, &trouble);
    }
    ExitCode::SUCCESS
}

fn work(hook: &Hook, path: &Path, config: &Config, complaints: Vec<String>, usable: bool) -> u8 {
    let Some(node) = node_name() else {
        log::error!("SLURMD_NODENAME is not set: this program is run by slurmd; nothing was done");
        return 0;
    };
    let limit = (hook.limit)(&config.deadlines);
    let seams =
        (&SystemClock as &dyn triage_host::clock::Clock, &SystemRunner as &dyn triage_host::runner::Runner);
    match Ctx::new(hook.program, (path.to_owned(), config), node, Root::default(), seams, limit) {
        Ok(mut ctx) => {
            if !usable {
                ctx.policy = Policy::default();
            }
            let (level, kind) =
                if usable { (Level::Warning, "config.ignored") } else { (Level::Error, "config.unusable") };
            ctx.notes.extend(complaints.into_iter().map(|text| ctx::note(level, kind, text)));
            (hook.pass)(&mut ctx)
        }
        Err(error) => {
            log::error!("{error}; nothing was done");
            0
        }
    }
}

/// The configuration as it could be read.
pub(crate) struct Read {
    pub(crate) config: Config,
    /// What is wrong with the file, one line each.
    pub(crate) complaints: Vec<String>,
    /// The file holds. Where it does not, built-in defaults do, and with them monitor mode: the policy that was meant
    /// may be another file's.
    pub(crate) usable: bool,
}

pub(crate) fn read_config(path: &Path) -> Read {
    match Config::load(path) {
        Ok(loaded) => Read {
            config: loaded.config,
            complaints: loaded.warnings.iter().map(ToString::to_string).collect(),
            usable: true,
        },
        Err(error) => Read {
            config: Config::default(),
            complaints: vec![format!("{error}; built-in defaults and monitor mode hold until it is mended")],
            usable: false,
        },
    }
}

/// The node, as slurmd tells its hooks.
pub(crate) fn node_name() -> Option<NodeName> {
    std::env::var("SLURMD_NODENAME").ok().filter(|name| !name.is_empty()).map(NodeName::new)
}
