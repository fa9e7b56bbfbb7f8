//! The built library from outside: what it exports and how it is bound.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files should panic")]

mod built;

use std::path::Path;
use std::process::Command;

use built::library;

fn output(program: &str, args: &[&str], library: &Path) -> String {
    let out = Command::new(program).args(args).arg(library).output().unwrap();
    assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn exports_are_the_loaders_three_and_the_hooks_in_use() {
    let listed = output("nm", &["-D", "--defined-only"], &library());
    let mut names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().last()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "plugin_name",
            "plugin_type",
            "plugin_version",
            "slurm_spank_init",
            "slurm_spank_task_exit",
            "slurm_spank_task_post_fork",
        ],
        "job_prolog and job_epilog would cost a slurmstepd a job; init and fini would be called by the loader"
    );
}

#[test]
fn the_loader_is_not_told_to_bind_every_symbol_at_once() {
    let dynamic = output("readelf", &["-d"], &library());
    // Neither BIND_NOW of DT_FLAGS nor NOW of DT_FLAGS_1.
    assert!(!dynamic.contains("NOW"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
}

#[test]
fn only_symbols_of_the_oldest_release_are_needed_from_slurm() {
    let listed = output("nm", &["-D", "--undefined-only"], &library());
    let mut needed: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| name.starts_with("spank_") || name.starts_with("slurm_"))
        .collect();
    needed.sort_unstable();
    assert_eq!(needed, ["spank_context", "spank_get_item", "spank_getenv", "spank_option_register"]);
}
