//! NVIDIA's own Python bindings read the simulator. They share no line with it: another author's structures,
//! another reader of the scenario.
use std::path::{Path, PathBuf};
use std::process::Command;

// Naming the crate is what makes Cargo build the shared object next to this test.
use nvidia_ml as _;

/// Version of nvidia-ml-py that the script was written against. Its structures are those of the NVML 13 headers.
const BINDINGS: &str = "nvidia-ml-py==13.615.71";

#[test]
#[ignore = "needs python3 with venv, and the Python package index once"]
fn nvidia_ml_py_reads_what_the_scenario_says() {
    let Some(python) = python_with_bindings() else {
        return;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folder = tempfile::tempdir().unwrap();
    let built = std::env::current_exe().unwrap().parent().unwrap().join("libnvidia_ml.so");
    std::os::unix::fs::symlink(built, folder.path().join("libnvidia-ml.so.1")).unwrap();
    std::fs::copy(source.join("independent.toml"), folder.path().join("node-n7.toml")).unwrap();
    let output = Command::new(python)
        .arg(source.join("independent.py"))
        .arg(source.join("independent.toml"))
        .env("LD_LIBRARY_PATH", folder.path())
        .env("NVML_SIM_SCENARIO", folder.path().join("node-%n.toml"))
        .env("TRIAGE_NODE", "n7")
        .env("SLURMD_NODENAME", "not-this-one")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
}

/// A Python that has the bindings, kept between runs; none, and why, where it cannot be had. In CI it must be.
fn python_with_bindings() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvidia-ml-py");
    let python = folder.join("bin/python");
    let recent = "import sys, pynvml; sys.exit(sys.version_info < (3, 11))";
    let ready =
        || Command::new(&python).args(["-c", recent]).output().is_ok_and(|output| output.status.success());
    let mut trouble = String::new();
    if !ready() {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(&folder);
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", BINDINGS]);
        for mut step in [venv, pip] {
            match step.output() {
                Ok(output) if output.status.success() => {}
                Ok(output) => trouble.push_str(&String::from_utf8_lossy(&output.stderr)),
                Err(error) => trouble.push_str(&error.to_string()),
            }
        }
    }
    if ready() {
        return Some(python);
    }
    assert!(std::env::var_os("CI").is_none(), "no Python 3.11 with {BINDINGS}: {trouble}");
    println!("skipped: no Python 3.11 with {BINDINGS}: {trouble}");
    None
}
