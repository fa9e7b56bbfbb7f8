//! A scontrol that writes down each call of the hooks before it makes it, and can kill its caller.

use crate::cluster::Cluster;
use crate::tend::replace;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// `kill.NODE` holds `before N`, `during N` or `after N`: at the Nth call of that node's hooks, the process that called is
/// killed with SIGKILL, before Slurm is told, while it is, or after that. `hang N` lets the call not come to an end, and
/// tells Slurm nothing. Instead of a number there may be a word: the first call that holds it.
const SPY: &str = r#"#!/bin/bash
PATH=/usr/bin:/bin
spy=${0%/*}
node=$(tr '\0' '\n' </proc/$PPID/environ | sed -n 's/^SLURMD_NODENAME=//p')
calls=$spy/calls.$node
plan=none at=0
[ ! -e "$spy/kill.$node" ] || read -r plan at <"$spy/kill.$node"
printf '%s\n' "$*" >>"$calls"
count=$(grep -c . <"$calls")
case $at in
    *[!0-9]*) case $* in *"$at"*) ;; *) plan=none ;; esac ;;
    *) [ "$count" -ge "$at" ] || plan=none ;;
esac
# Before the plan is known to be used up.
case $plan in during | after) : >"$spy/flying.$node" ;; esac
# Once.
[ "$plan" = none ] || rm -f "$spy/kill.$node"
case $plan in
    before) kill -KILL $PPID; exit 1 ;;
    # The call outlives its caller, and whoever ends what the caller has left.
    during)
        call='/usr/bin/scontrol "$@" && printf "%s\n" "$*" >>"$0/done"; rm -f "$0/flying.$node"'
        node=$node setsid bash -c "$call" "$spy" "$@" </dev/null >/dev/null 2>&1 &
        kill -KILL $PPID
        exit 1
        ;;
    hang) exec sleep 60 ;;
esac
/usr/bin/scontrol "$@"
rc=$?
[ $rc -ne 0 ] || printf '%s\n' "$*" >>"$spy/done"
[ "$plan" != after ] || { rm -f "$spy/flying.$node"; kill -KILL $PPID; }
exit $rc
"#;

impl Cluster {
    /// From now on the hooks call the spy.
    pub(crate) fn spy(&self) {
        let folder = self.dir().join("spy");
        fs::create_dir_all(&folder).expect("a folder for the spy");
        let program = folder.join("scontrol");
        fs::write(&program, SPY).expect("the spy is written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is made executable");
        self.configure("slurm", "scontrol", &format!("\"{}\"", program.display()));
    }

    /// Kills the node's hook at its `at`th call, or at the first one that holds this word: `before` Slurm is told,
    /// `during` that, or `after` it.
    pub(crate) fn kill_hook(&self, node: &str, when: &str, at: impl std::fmt::Display) {
        replace(&self.dir().join(format!("spy/kill.{node}")), &format!("{when} {at}\n"));
    }

    /// Waits until the node's hook has been killed at the call it was to be killed at, and that call, which may outlive it, is over:
    /// who looks at Slurm while it is on its way sees what was before it.
    pub(crate) fn wait_killed(&self, node: &str) {
        let left = ["kill", "flying"].map(|what| self.dir().join(format!("spy/{what}.{node}")));
        self.wait_for(&format!("{node}: the call comes and is over"), || {
            left.iter().all(|file| !file.exists()).then_some(())
        });
    }

    /// Counts the calls of the node's hooks from here on.
    pub(crate) fn forget_calls(&self, node: &str) {
        // Missing is what we want.
        let _ = fs::remove_file(self.dir().join(format!("spy/calls.{node}")));
    }

    /// What the node's hooks have asked or told the controller so far.
    pub(crate) fn calls(&self, node: &str) -> Vec<String> {
        lines(&self.dir().join(format!("spy/calls.{node}")))
    }

    /// How many calls that hold every one of `words` the controller has obeyed.
    pub(crate) fn obeyed(&self, words: &[&str]) -> usize {
        let done = lines(&self.dir().join("spy/done"));
        done.iter().filter(|line| words.iter().all(|word| line.contains(word))).count()
    }
}

fn lines(path: &std::path::Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}
