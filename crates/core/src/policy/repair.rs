//! `[repair]` of the policy: how a node that we took out comes back. Every step is a choice; only the proof is not.
use serde::{Deserialize, Serialize};

use super::Glob;
use crate::{Action, Mode, PciAddress};

/// Stands for the GPU's address in a command.
pub(crate) const PCI: &str = "{pci}";

/// Whether a step on the way back is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Never: nothing is written down either.
    #[default]
    Off,
    /// Written down, not carried out.
    Monitor,
    /// Carried out.
    Act,
}

impl Step {
    /// The mode the step runs in, under the site's own; `None` when it is off. A site in monitor mode has no drains of
    /// ours to bring back.
    pub fn mode(self, site: Mode) -> Option<Mode> {
        match (self, site) {
            (Self::Off, _) => None,
            (Self::Act, Mode::Act) => Some(Mode::Act),
            _ => Some(Mode::Monitor),
        }
    }
}

/// The way back into service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Repair {
    /// Lifting our own drain, once the repair is proven and every check of `verify` has passed.
    pub resume: Step,
    /// Resetting the GPU, on an idle node that we drained.
    pub reset: Step,
    /// Asking Slurm to boot the node again once it is idle (`scontrol reboot`); needs `RebootProgram` in slurm.conf.
    pub reboot: Step,
    /// The command that resets a GPU. `{pci}` stands for its address.
    pub reset_command: Command,
    /// Bounded tests to pass before the drain is lifted, run in this order on the idle, drained node.
    pub verify: Vec<Command>,
    /// How many days after its return a node is on probation: a probable fault counts as a confirmed one then. Two
    /// weeks cover the time in which a part that was not mended fails again under work; it is our own choice.
    pub probation_days: u32,
    /// Returns of one node within `return_days` after which a person has to bring it back. Against a node that comes
    /// and goes: our own choice.
    pub max_returns: u32,
    /// The window for `max_returns`, days.
    pub return_days: u32,
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            resume: Step::Monitor,
            reset: Step::Off,
            reboot: Step::Off,
            reset_command: Command {
                name: "gpu-reset".to_owned(),
                command: ["/usr/bin/nvidia-smi", "--gpu-reset", "--id={pci}"].map(str::to_owned).to_vec(),
                ..Command::default()
            },
            verify: Vec::new(),
            probation_days: 14,
            max_returns: 2,
            return_days: 7,
        }
    }
}

/// A command of the site's, with its deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Command {
    /// What it is called where it is told of.
    pub name: String,
    /// The program by its absolute path, and its arguments. There is no shell.
    pub command: Vec<String>,
    /// How long it may take, seconds. `dcgmi diag -r 1` takes seconds, `-r 2` two to ten minutes (DCGM's user guide).
    pub deadline_s: u32,
    /// Fault classes it is for (`gpu.*`); empty: all.
    pub fault: Vec<Glob>,
}

impl Default for Command {
    fn default() -> Self {
        Self { name: String::new(), command: Vec::new(), deadline_s: 120, fault: Vec::new() }
    }
}

/// Longest deadline of one command, seconds: what runs longer is a job, not a check before one.
const MAX_DEADLINE_S: u32 = 600;

impl Repair {
    /// What is wrong with it, in words, where something is.
    pub fn fault(&self) -> Option<String> {
        let reset = (self.reset != Step::Off).then_some(&self.reset_command);
        self.verify.iter().chain(reset).find_map(Command::fault)
    }

    /// Whether the policy asks for what `action` would run. The ledger keeps the command, and more people may be able
    /// to write there than in the policy: what root runs is the policy's word alone. Actions that run no command of the
    /// site's are none of its business.
    pub fn allows(&self, action: &Action) -> bool {
        match action {
            Action::Reset { command, .. } => {
                self.reset != Step::Off && is_made_from(&command.command, &self.reset_command.command)
            }
            Action::Verify { commands, .. } => commands.iter().all(|command| self.verify.contains(command)),
            _ => true,
        }
    }
}

/// Whether `made` is the template with the address of a GPU in it.
fn is_made_from(made: &[String], template: &[String]) -> bool {
    let fits = |made: &String, template: &String| match template.split_once(PCI) {
        None => made == template,
        Some((before, after)) => made
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|address| address.parse::<PciAddress>().is_ok_and(|pci| pci.to_string() == address)),
    };
    made.len() == template.len() && made.iter().zip(template).all(|(made, template)| fits(made, template))
}

impl Command {
    fn fault(&self) -> Option<String> {
        let name = if self.name.is_empty() { "a command of [repair]" } else { &self.name };
        if self.name.trim().is_empty() {
            return Some("a command of [repair] has no name: give it one, results are told by it".to_owned());
        }
        match self.command.first() {
            None => Some(format!("{name}: command is empty: name a program by its absolute path")),
            Some(program) if !program.starts_with('/') => {
                Some(format!("{name}: \"{program}\" is no absolute path: there is no PATH where it runs"))
            }
            Some(_) if !(1..=MAX_DEADLINE_S).contains(&self.deadline_s) => Some(format!(
                "{name}: deadline_s = {} is not between 1 and {MAX_DEADLINE_S}",
                self.deadline_s
            )),
            Some(_) => None,
        }
    }

    /// Whether it is meant for cases of this fault class.
    pub fn is_for(&self, fault: &str) -> bool {
        self.fault.is_empty() || self.fault.iter().any(|glob| glob.matches(fault))
    }
}
