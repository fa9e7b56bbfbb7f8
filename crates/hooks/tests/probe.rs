//! `triage-probe` as the hooks run it: a child with almost no environment.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use triage_core::reading::{NvmlReading, NvmlState};

// Naming the crate is what makes Cargo build the simulator's shared object next to this test.
use nvidia_ml as _;

fn simulator() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().join("libnvidia_ml.so")
}

fn probe() -> Command {
    let mut probe = Command::new(env!("CARGO_BIN_EXE_triage-probe"));
    probe.env_clear();
    probe
}

/// The probe on a scenario, with the simulator.
fn on(scenario: &Path) -> Command {
    let mut probe = probe();
    probe.arg("--library").arg(simulator()).arg("--scenario").arg(scenario);
    probe
}

fn scenario(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n1.toml");
    std::fs::write(&path, format!("format = 1\n{text}")).unwrap();
    (folder, path)
}

fn reading(output: &Output) -> NvmlReading {
    assert!(output.status.success(), "{output:?}");
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!((text.lines().count(), text.ends_with('\n')), (1, true), "{text}");
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_sweep_is_one_line_of_json_and_nothing_else() {
    let (_folder, path) = scenario("gpus = 3\n[[fault]]\nkind = \"lost\"\ngpu = 1");
    let output = on(&path).arg("--json").output().unwrap();
    let reading = reading(&output);
    assert_eq!(reading.state, NvmlState::Ok);
    assert_eq!(reading.gpus.iter().map(|gpu| gpu.lost).collect::<Vec<_>>(), [false, true, false]);
    assert!(output.stderr.is_empty());
}

#[test]
fn the_node_name_in_the_scenario_path_is_filled_in() {
    let (folder, _path) = scenario("gpus = 5");
    let output = on(&folder.path().join("%n.toml")).env("SLURMD_NODENAME", "n1").output().unwrap();
    assert_eq!(reading(&output).gpus.len(), 5);
}

#[test]
fn whatever_keeps_nvml_from_being_read_is_a_reading_with_exit_status_0() {
    let (folder, path) =
        scenario("[[fault]]\nkind = \"error\"\nfunction = \"nvmlInit\"\nerror = \"NO_PERMISSION\"");
    assert_eq!(reading(&on(&path).output().unwrap()).state, NvmlState::NoPermission);
    let missing = folder.path().join("none.so");
    let output = probe().arg("--library").arg(&missing).output().unwrap();
    assert_eq!(reading(&output).state, NvmlState::LibraryMissing);
    let output = probe().arg("--library").arg(&path).output().unwrap();
    assert_eq!(reading(&output).state, NvmlState::Failed);
}

#[test]
fn a_wrong_scenario_is_explained_on_standard_error_and_in_the_log() {
    let (folder, path) = scenario("gups = 8");
    let log = folder.path().join("sim.log");
    let output = on(&path).env("NVML_SIM_LOG", &log).output().unwrap();
    assert_eq!(reading(&output).state, NvmlState::Failed);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("n1.toml: line 2: unknown field `gups`"), "{said}");
    assert_eq!(std::fs::read_to_string(log).unwrap(), said);
}

#[test]
fn a_scenario_that_is_asked_for_and_missing_is_not_a_healthy_node() {
    let folder = tempfile::tempdir().unwrap();
    let output = on(&folder.path().join("none.toml")).output().unwrap();
    assert_eq!(reading(&output).state, NvmlState::Failed);
}

#[test]
fn an_installed_library_is_not_initialised_without_the_driver() {
    if Path::new("/proc/driver/nvidia/version").exists() {
        println!("skipped: NVIDIA's driver is loaded here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(simulator(), folder.path().join("libnvidia-ml.so.1")).unwrap();
    let log = folder.path().join("sim.log");
    let mut probe = probe();
    // Initialised, the simulator would complain about the missing scenario.
    probe
        .env("LD_LIBRARY_PATH", folder.path())
        .args(["--scenario", "/nonexistent"])
        .env("NVML_SIM_LOG", &log);
    let reading = reading(&probe.output().unwrap());
    assert_eq!(reading.state, NvmlState::DriverNotLoaded);
    assert!(reading.detail.contains("/proc/driver/nvidia/version"), "{}", reading.detail);
    assert!(!log.exists());
}

#[test]
fn wrong_usage_reads_nothing() {
    for arguments in [&["--libary", "x"][..], &["--library"], &["--scenario", ""], &["extra"]] {
        let output = probe().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8(output.stderr).unwrap().contains("usage: triage-probe"));
    }
}

#[test]
fn an_answer_that_nobody_can_take_is_not_called_given() {
    let (_folder, path) = scenario("gpus = 1");
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(on(&path).stdout(full).status().unwrap().code(), Some(1));
}

/// A probe that is killed when the test ends, however it ends.
struct Hanging(Child);

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_hanging_probe_says_in_its_name_where_and_leaves_no_core() {
    let (_folder, path) = scenario("[[fault]]\nkind = \"hang\"\ngpu = 3\nfunction = \"nvmlDeviceGetUUID\"");
    let child = Hanging(on(&path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let proc = PathBuf::from(format!("/proc/{}", child.0.id()));
    let name = || std::fs::read_to_string(proc.join("comm")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while name() != "nvml gpu 3\n" {
        assert!(Instant::now() < deadline, "{}", name());
        std::thread::sleep(Duration::from_millis(5));
    }
    let limits = std::fs::read_to_string(proc.join("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
}

#[test]
#[ignore = "needs Debian's non-free packages, from the network once"]
fn nvidias_own_library_without_a_driver_is_told_as_that() {
    let Some(library) = real_library() else { return };
    let node = Path::new("/dev/nvidiactl");
    let there_before = node.exists();
    let output = probe().arg("--library").arg(&library).output().unwrap();
    if !there_before {
        // NVIDIA's library makes it, as root and even without a driver.
        let _ = std::fs::remove_file(node);
    }
    let reading = reading(&output);
    assert_eq!(reading.state, NvmlState::DriverNotLoaded, "{}", reading.detail);
    assert!(reading.detail.contains("DRIVER_NOT_LOADED"), "{}", reading.detail);
}

#[test]
#[ignore = "needs Debian's non-free packages, from the network once"]
fn the_simulator_exports_no_function_that_nvidias_library_lacks() {
    let Some(library) = real_library() else { return };
    let exported = |library: &Path| {
        let mut nm = Command::new("nm");
        let symbols =
            nm.args(["-D", "--defined-only", "--format=just-symbols"]).arg(library).output().unwrap();
        let names = String::from_utf8(symbols.stdout).unwrap();
        names.lines().map(|name| name.split('@').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let real = exported(&library);
    assert!(real.len() > 300);
    let invented: Vec<String> =
        exported(&simulator()).into_iter().filter(|name| !real.contains(name)).collect();
    // Newer than Debian's driver 535.
    let newer = ["nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetTemperatureV"];
    assert!(invented.iter().all(|name| newer.contains(&name.as_str())), "{invented:?}");
}

/// NVIDIA's own library; none, and why, where it cannot be had or a driver is loaded.
fn real_library() -> Option<PathBuf> {
    if Path::new("/proc/driver/nvidia/version").exists() {
        println!("skipped: NVIDIA's driver is loaded here");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/lib/fetch-real-nvml");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-nvml");
    let output = Command::new(script).arg(folder).output().unwrap();
    match output.status.code() {
        Some(0) => Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())),
        Some(3) => {
            println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        _ => panic!("{output:?}"),
    }
}

#[test]
fn a_disk_that_cannot_be_asked_is_told_with_its_reason_and_never_as_well() {
    for (device, why) in [("/dev/null", "ioctl"), ("/dev/nvme-none", "No such file")] {
        let output = probe().args(["--filesystems", "20000", "--nvme", device]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&told["path"], &told["health"]), (&device.into(), &serde_json::Value::Null));
        assert!(told["error"].as_str().unwrap().contains(why), "{told}");
    }
}

#[test]
fn filesystems_are_told_one_a_line_and_a_wrong_word_is_usage() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    let output =
        probe().args(["--filesystems", "20000", "--write", here, "--path", "/nonexistent"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut told: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    told.sort_by_key(|line| line["path"] == "/nonexistent");
    assert_eq!((told.len(), &told[0]["path"]), (2, &here.into()));
    assert!(
        told[0]["bytes"].as_u64().unwrap() > 0 && told[1]["error"].as_str().unwrap().contains("No such file")
    );
    for wrong in [&["--filesystems"][..], &["--filesystems", "soon"], &["--filesystems", "1", "--read", "/"]]
    {
        assert_eq!(probe().args(wrong).output().unwrap().status.code(), Some(2), "{wrong:?}");
    }
}
