//! One look at the node: the areas that are asked for, each timed, none able to take another with it.
use std::collections::BTreeSet;
use std::path::PathBuf;

use triage_core::checks::Expect;
use triage_core::facts::{Area, NodeFacts, Sheet};
use triage_core::{BootId, NodeName};

use super::space::{self, Asked, Asking};
use super::{
    clock, cpus, disks, driver, edac, firmware, kernel, memory, mounts, nic, pci, processes, pstore, raid,
    services, slurm_node,
};
use crate::clock::Clock;
use crate::proc::Root;
use crate::site_checks::SiteChecks;
use crate::slurm::gres;

/// What to look at, and with what.
pub struct Collect<'a> {
    /// Where the filesystem begins.
    pub root: &'a Root,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// This node.
    pub node: &'a NodeName,
    /// This boot.
    pub boot: &'a BootId,
    /// The areas asked for.
    pub areas: &'a BTreeSet<Area>,
    /// What the node should have: some areas look for it by name.
    pub expect: &'a Expect,
    /// What was read before; of this boot it is told what not to try again.
    pub before: Option<&'a NodeFacts>,
    /// Users whose leftovers are looked for.
    pub uids: &'a BTreeSet<u32>,
    /// Processes that NVML named, whose owners are looked up.
    pub gpu_pids: &'a [u32],
    /// How to ask filesystems.
    pub space: Asking<'a>,
    /// The site's own checks.
    pub site: SiteChecks<'a>,
    /// Where slurm.conf is, if anybody says.
    pub slurm_conf: Option<PathBuf>,
}

impl Collect<'_> {
    /// Looks.
    pub fn run(&self) -> NodeFacts {
        let mut facts = NodeFacts::new(self.clock.now(), self.boot.clone());
        facts.mounts = self.timed(Area::Mounts, || mounts::read(self.root));
        let asked = self.ask(&facts);
        facts.memory = self.timed(Area::Memory, || memory::read(self.root));
        facts.processes = self.timed(Area::Processes, || processes::read(self.root));
        facts.clock = self.timed(Area::Clock, || clock::read(self.root));
        facts.cpus = self.timed(Area::Cpus, || cpus::read(self.root));
        facts.services = self.timed(Area::Services, || services::read(self.root, &self.expect.services));
        facts.kernel = self.timed(Area::Kernel, || kernel::read(self.root));
        facts.raid = self.timed(Area::Raid, || raid::read(self.root));
        facts.edac = self.timed(Area::Edac, || edac::read(self.root));
        facts.disks =
            self.timed(Area::Disks, || disks::read(self.root, self.earlier(|before| before.disks.as_ref())));
        facts.firmware = self.timed(Area::Firmware, || {
            firmware::read(self.root, self.earlier(|before| before.firmware.as_ref()))
        });
        facts.pstore = self.timed(Area::Pstore, || pstore::read(self.root));
        facts.leftovers = self.timed(Area::Leftovers, || processes::leftovers(self.root, self.uids));
        let conf = self.slurm_conf.as_deref();
        facts.slurm = self.timed(Area::Slurm, || slurm_node::read(self.root, conf, self.node));
        facts.gres = self.timed(Area::Gres, || match gres::slurm_conf(self.root, conf) {
            Some(path) => gres::read(&path, self.node),
            None => Sheet::blind("no slurm.conf was found: name it in triage.toml, [slurm] conf"),
        });
        facts.pci = self.timed(Area::Pci, || pci::read(self.root));
        facts.nic =
            self.timed(Area::Nic, || nic::read(self.root, self.earlier(|before| before.nic.as_ref())));
        facts.driver = self.timed(Area::Driver, || driver::read(self.root, self.gpu_pids));
        facts.space = asked.and_then(|(area, asked)| self.timed(area, || asked.answer()));
        facts.site = self.timed(Area::Site, || self.site.run());
        facts
    }

    fn timed<T>(&self, area: Area, read: impl FnOnce() -> Sheet<T>) -> Option<Sheet<T>> {
        if !self.areas.contains(&area) {
            return None;
        }
        let begun = self.clock.monotonic();
        let mut sheet = read();
        let cost = self.clock.monotonic().saturating_sub(begun);
        sheet.cost_us = u64::try_from(cost.as_micros()).unwrap_or(u64::MAX);
        Some(sheet)
    }

    /// Asks the filesystems and disks first of all: most of what that takes is spent in another process. Where it is not known
    /// what is mounted no filesystem is asked, and the checks of them are blind on the mounts.
    fn ask(&self, facts: &NodeFacts) -> Option<(Area, Asked<'_>)> {
        let area = [Area::Space, Area::Smart].into_iter().find(|area| self.areas.contains(area))?;
        let mut paths = Vec::new();
        if self.areas.contains(&Area::Space)
            && let Some(mounts) = facts.mounts.as_ref().and_then(|sheet| sheet.said.as_ref())
        {
            let expected: Vec<(String, bool)> =
                self.expect.mounts.iter().map(|mount| (mount.path.clone(), mount.write)).collect();
            paths = space::worth_asking(mounts, &expected);
        }
        if self.areas.contains(&Area::Smart) {
            let before = self.earlier(|before| before.disks.as_ref());
            paths.extend(space::worth_asking_disks(disks::controllers(self.root, before)));
        }
        Some((area, self.space.ask(paths)))
    }

    /// What was read of an area earlier in this boot.
    fn earlier<T>(&self, area: impl FnOnce(&NodeFacts) -> Option<&Sheet<T>>) -> Option<&T> {
        area(self.before.filter(|before| before.boot == *self.boot)?)?.said.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use triage_core::Stamp;

    use super::*;
    use crate::testkit::{FakeClock, Machine, Scripted, answered};

    fn look(machine: &Machine, runner: &Scripted, areas: &[Area]) -> NodeFacts {
        let clock = FakeClock::at(Stamp::from_secs(1_800_000_000));
        let root = machine.root();
        let (node, second) = (NodeName::from("n1"), Duration::from_secs(1));
        let site = SiteChecks {
            runner,
            clock: &clock,
            folder: machine.at("checks.d"),
            node: &node,
            enabled: Box::new(|_| true),
            each: second,
            total: second,
        };
        let space = Asking {
            runner,
            root: &root,
            program: "/usr/lib/slurm-triage/triage-probe".into(),
            deadline: second,
            notes: machine.at("held"),
        };
        Collect {
            root: &root,
            clock: &clock,
            node: &node,
            boot: &BootId::from("b1"),
            areas: &areas.iter().copied().collect(),
            expect: &Expect::default(),
            before: None,
            uids: &BTreeSet::new(),
            gpu_pids: &[],
            space,
            site,
            slurm_conf: None,
        }
        .run()
    }

    #[test]
    fn only_the_nodes_own_disks_are_asked_and_only_by_the_check_that_wants_it() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::new(folder.path());
        for (name, text) in [
            ("sys/class/nvme/nvme0/transport", "pcie\n"),
            ("sys/class/nvme/nvme1/transport", "tcp\n"),
            ("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"),
        ] {
            machine.file(name, text).unwrap();
        }
        let told = "{\"path\":\"/dev/nvme0\",\"health\":{\"used\":4}}\n{\"path\":\"/\",\"bytes\":10}\n";
        let runner = Scripted::new(move |_| answered(told));
        let asked = |areas: &[Area]| {
            let facts = look(&machine, &runner, areas);
            (runner.commands().pop().unwrap().args.split_off(2), facts.space.unwrap().said.unwrap())
        };
        let (args, space) = asked(&[Area::Mounts, Area::Space, Area::Disks, Area::Smart]);
        assert_eq!(args, ["--path", "/", "--nvme", "/dev/nvme0"]);
        assert_eq!((space.of["/"].bytes, space.disks["nvme0"].health.unwrap().used), (10, 4));
        let (args, space) = asked(&[Area::Disks, Area::Smart]);
        assert_eq!((&args[..], space.of.len()), (&["--nvme".to_owned(), "/dev/nvme0".to_owned()][..], 0));
        let (args, space) = asked(&[Area::Mounts, Area::Space]);
        assert_eq!((&args[..], space.disks.len()), (&["--path".to_owned(), "/".to_owned()][..], 0));
    }

    #[test]
    fn without_disks_no_child_is_run_for_their_health() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::new(folder.path());
        let runner = Scripted::in_order([]);
        let facts = look(&machine, &runner, &[Area::Disks, Area::Smart]);
        assert_eq!(facts.space.unwrap().said.unwrap().disks.len(), 0);
        assert_eq!(facts.disks.unwrap().blind, [""; 0]);
        assert!(runner.commands().is_empty());
    }
}
