//! A controller of many nodes that answers `scontrol`, and counts who asked.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use triage_host::runner::{Command, Finished, RunError};
use triage_host::testkit::{Scripted, answered, failed};

/// When the job began, seconds since 1970.
pub(crate) const BEGAN: i64 = 1_800_000_000;

pub(crate) struct Sim {
    count: usize,
    drained: BTreeMap<String, String>,
    extra: BTreeMap<String, String>,
    restarts: u32,
    state: &'static str,
    excluded: String,
    name: String,
    pub(crate) calls: Vec<String>,
}

impl Sim {
    pub(crate) fn of(count: usize) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self {
            count,
            drained: BTreeMap::new(),
            extra: BTreeMap::new(),
            restarts: 0,
            state: "FAILED",
            excluded: "(null)".to_owned(),
            name: "x".to_owned(),
            calls: Vec::new(),
        }))
    }

    /// A runner for one node. Only scontrol is there.
    pub(crate) fn runner(sim: &Rc<RefCell<Self>>) -> Scripted {
        let sim = Rc::clone(sim);
        Scripted::new(move |command| sim.borrow_mut().answer(command))
    }

    pub(crate) fn drained(&self) -> Vec<&str> {
        self.drained.keys().map(String::as_str).collect()
    }

    /// Another node goes out by us.
    pub(crate) fn lose(&mut self, node: &str) {
        self.drained.insert(node.to_owned(), "slurm-triage: xid.79 gpu [case 0a0b0c0d]".to_owned());
    }

    /// The owner names the job.
    pub(crate) fn name_job(&mut self, name: &str) {
        self.name = name.to_owned();
    }

    /// A person brings a node back.
    pub(crate) fn bring_back(&mut self, node: &str) {
        self.drained.remove(node);
    }

    /// How many calls begin so.
    pub(crate) fn made(&self, word: &str) -> usize {
        self.calls.iter().filter(|call| call.starts_with(word)).count()
    }

    fn answer(&mut self, command: &Command) -> Result<Finished, RunError> {
        if !command.program.ends_with("scontrol") {
            return Err(RunError::NotFound { program: command.program.clone() });
        }
        let args: Vec<&str> = command.args.iter().map(String::as_str).collect();
        self.calls.push(args.join(" "));
        match args.as_slice() {
            ["-o", "show", "node"] => answered(&self.every_node()),
            ["-o", "show", "node", list] if list.contains('[') => {
                let names = triage_host::slurm::hostlist::expand(list).unwrap_or_default();
                answered(&names.iter().map(|name| self.node(name.as_str())).collect::<String>())
            }
            ["-o", "show", "node", name] => answered(&self.node(name)),
            ["-o", "show", "job", "42"] => answered(&self.job()),
            ["requeue", "42"] => {
                (self.restarts, self.state) = (self.restarts + 1, "PENDING");
                answered("")
            }
            ["update", target, rest @ ..] => {
                self.update(target, rest);
                answered("")
            }
            _ => failed("what is that"),
        }
    }

    fn update(&mut self, target: &str, words: &[&str]) {
        let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)).map(str::to_owned);
        if let Some(node) = target.strip_prefix("NodeName=") {
            if words.contains(&"State=DRAIN") {
                self.drained.insert(node.to_owned(), value("Reason=").unwrap_or_default());
            }
            if words.contains(&"State=UNDRAIN") {
                self.drained.remove(node);
            }
            if let Some(extra) = value("Extra=") {
                self.extra.insert(node.to_owned(), extra);
            }
        }
        if let Some(nodes) = value("ExcNodeList=") {
            self.excluded = nodes;
        }
    }

    fn every_node(&self) -> String {
        let others = self.drained.keys().filter(|name| name.starts_with('m')).cloned();
        (1..=self.count).map(|n| format!("n{n}")).chain(others).map(|name| self.node(&name)).collect()
    }

    fn node(&self, name: &str) -> String {
        let (state, reason) = match self.drained.get(name) {
            Some(reason) => ("MIXED+DRAIN", format!(" Reason={reason} [root@{}]", BEGAN + 500)),
            None => ("MIXED", String::new()),
        };
        let extra = self.extra.get(name).map(|extra| format!(" Extra={extra}")).unwrap_or_default();
        format!("NodeName={name} State={state} Partitions=p{reason}{extra}\n")
    }

    fn job(&self) -> String {
        format!(
            "JobId=42 JobName={} JobState={} Reason=BeginTime Requeue=1 Restarts={} BatchFlag=1 ExitCode=1:0 StartTime={BEGAN} \
             ExcNodeList={} NodeList=n[1-{}]\n",
            self.name, self.state, self.restarts, self.excluded, self.count
        )
    }
}
