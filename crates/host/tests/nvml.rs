//! Reading NVML through the simulator, in every state it can be in. Each test has a copy of the library with its scenario
//! beside it, so that tests in one process do not share state.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

use std::path::{Path, PathBuf};

use triage_core::reading::{CallError, GpuProcess, GpuReading, NvLinkReading, NvmlReading, NvmlState};
use triage_host::nvml::{self, Progress};

// Naming the crate is what makes Cargo build the shared object next to this test.
use nvidia_ml as _;

struct Sim {
    folder: tempfile::TempDir,
}

impl Sim {
    fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let built = std::env::current_exe().unwrap().parent().unwrap().join("libnvidia_ml.so");
        std::fs::copy(built, folder.path().join("libnvidia-ml.so.1")).unwrap();
        let text = format!("format = 1\nnode = \"n1\"\n{scenario}");
        std::fs::write(folder.path().join("nvml-sim.toml"), text).unwrap();
        Self { folder }
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("libnvidia-ml.so.1")
    }

    fn read(&self) -> NvmlReading {
        read(&self.library())
    }
}

fn read(library: &Path) -> NvmlReading {
    nvml::read(Some(library), |_| {})
}

fn read_scenario(scenario: &str) -> NvmlReading {
    Sim::new(scenario).read()
}

fn fault(keys: &str) -> NvmlReading {
    read_scenario(&format!("[[fault]]\n{keys}"))
}

fn failed(call: &str, error: &str) -> CallError {
    CallError { call: call.to_owned(), error: error.to_owned() }
}

/// Every call that is made about a GPU, once it has a handle.
const CALLS: &[&str] = &[
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetSerial",
    "nvmlDeviceGetName",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetVbiosVersion",
    "nvmlDeviceGetInforomImageVersion",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetRetiredPages_v2",
    "nvmlDeviceGetRetiredPagesPendingStatus",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetTemperatureThreshold",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetMaxPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth",
    "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetPcieReplayCounter",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetNvLinkErrorCounter",
];

#[test]
fn every_value_arrives_in_its_field() {
    let reading = read_scenario(
        r#"
        gpus = 1
        [driver]
        version = "570.1"
        nvml = "12.570.1"
        [[gpu]]
        index = 0
        uuid = "GPU-1"
        pci = "00010000:AB:1f.0"
        serial = "17"
        name = "Name"
        minor = 9
        vbios = "vb"
        inforom = "ir"
        persistence = false
        mig = "enabled"
        mig_devices = ["1g.10gb", "3g.40gb", "1g.10gb", "1c.3g.40gb"]
        ecc_uncorrected = 1
        ecc_uncorrected_aggregate = 2
        ecc_corrected = 3
        ecc_corrected_aggregate = 4
        remap_corrected = 5
        remap_uncorrected = 6
        remap_pending = true
        remap_failed = false
        retired_single_bit = 7
        retired_double_bit = 1
        retired_pending = true
        recovery_action = "drain_and_reset"
        throttle = ["hw_thermal", "sw_power_cap", "board_limit"]
        temperature_c = 91
        temperature_slowdown_c = 89
        power_w = 699.5
        power_limit_w = 500
        utilization_gpu = 77
        pcie_gen = 1
        pcie_gen_max = 5
        pcie_width = 8
        pcie_width_max = 16
        pcie_replays = 10
        nvlinks = 2
        nvlink = [{ link = 1, state = "inactive", replay = 11, recovery = 12, crc_flit = 13, crc_data = 99 }]
        memory_total_mib = 100
        memory_used_mib = 1
        processes = [{ pid = 14, memory_mib = 2 }]
        fabric_state = "completed"
        fabric_status = "TIMEOUT"
        "#,
    );
    let gpu = GpuReading {
        index: 0,
        uuid: Some("GPU-1".to_owned()),
        pci: Some("10000:ab:1f.0".parse().unwrap()),
        serial: Some("17".to_owned()),
        name: Some("Name".to_owned()),
        minor: Some(9),
        lost: false,
        ecc_uncorrected: Some(1),
        ecc_uncorrected_aggregate: Some(2),
        ecc_corrected: Some(3),
        ecc_corrected_aggregate: Some(4),
        remap_corrected: Some(5),
        remap_uncorrected: Some(6),
        remap_pending: Some(true),
        remap_failed: Some(false),
        retired_pages: Some(8),
        retired_pending: Some(true),
        recovery_action: Some("drain_and_reset".to_owned()),
        throttle: Some(["sw_power_cap", "hw_thermal", "board_limit"].map(str::to_owned).to_vec()),
        temperature_c: Some(91),
        temperature_slowdown_c: Some(89),
        power_mw: Some(699_500),
        power_limit_mw: Some(500_000),
        utilization: Some(77),
        pcie_width: Some(8),
        pcie_width_max: Some(16),
        pcie_gen: Some(1),
        pcie_gen_max: Some(5),
        pcie_replays: Some(10),
        nvlinks: vec![
            NvLinkReading { link: 0, active: true, replays: Some(0), recoveries: Some(0), crc: Some(0) },
            NvLinkReading { link: 1, active: false, replays: Some(11), recoveries: Some(12), crc: Some(13) },
        ],
        mig: Some(true),
        mig_profiles: [("1c.3g.40gb", 1), ("1g.10gb", 2), ("3g.40gb", 1)]
            .map(|(profile, count)| (profile.to_owned(), count))
            .into(),
        persistence: Some(false),
        vbios: Some("vb".to_owned()),
        inforom: Some("ir".to_owned()),
        fabric_state: Some("completed".to_owned()),
        fabric_status: Some("timeout".to_owned()),
        memory_used: Some(3 << 20),
        memory_total: Some(100 << 20),
        processes: vec![GpuProcess { pid: 14, memory: Some(2 << 20) }],
        errors: Vec::new(),
    };
    let whole = NvmlReading {
        state: NvmlState::Ok,
        detail: String::new(),
        driver_version: Some("570.1".to_owned()),
        nvml_version: Some("12.570.1".to_owned()),
        gpus: vec![gpu],
    };
    assert_eq!(reading, whole);
}

#[test]
fn a_healthy_node_has_no_errors_and_nothing_a_hopper_board_lacks() {
    let reading = read_scenario("");
    assert_eq!((reading.state, reading.gpus.len()), (NvmlState::Ok, 8));
    for gpu in &reading.gpus {
        assert_eq!((gpu.lost, gpu.errors.as_slice(), gpu.nvlinks.len()), (false, &[] as &[CallError], 18));
        assert_eq!((gpu.retired_pages, gpu.retired_pending), (None, None));
        assert_eq!(gpu.recovery_action.as_deref(), Some("none"));
    }
}

#[test]
fn no_gpu_at_all_is_a_reading_too() {
    let reading = read_scenario("gpus = 0");
    assert_eq!((reading.state, reading.gpus.len()), (NvmlState::Ok, 0));
    assert_eq!(reading.driver_version.as_deref(), Some("580.95.05"));
}

#[test]
fn a_lost_gpu_keeps_its_place_and_the_others_are_read() {
    let reading = fault("kind = \"lost\"\ngpu = 3");
    let healthy = read_scenario("");
    for (gpu, before) in reading.gpus.iter().zip(&healthy.gpus) {
        if gpu.index == 3 {
            let errors = vec![failed("nvmlDeviceGetHandleByIndex_v2", "GPU_IS_LOST")];
            assert_eq!(*gpu, GpuReading { index: 3, lost: true, errors, ..GpuReading::default() });
        } else {
            assert_eq!(gpu, before);
        }
    }
    assert_eq!(reading.gpus.len(), 8);
}

#[test]
fn a_gpu_lost_half_way_is_asked_nothing_more() {
    let reading =
        fault("kind = \"error\"\ngpu = 1\nfunction = \"nvmlDeviceGetPowerUsage\"\nerror = \"GPU_IS_LOST\"");
    let gpu = &reading.gpus[1];
    assert!(gpu.lost && gpu.uuid.is_some() && gpu.temperature_c.is_some());
    assert_eq!((gpu.power_limit_mw, gpu.memory_total, gpu.nvlinks.len()), (None, None, 0));
    assert_eq!(gpu.errors, [failed("nvmlDeviceGetPowerUsage", "GPU_IS_LOST")]);
}

#[test]
fn one_failing_call_costs_its_own_value_only() {
    let healthy = read_scenario("gpus = 2").gpus;
    for call in CALLS {
        let text = format!(
            "gpus = 2\n[[fault]]\nkind = \"error\"\ngpu = 1\nfunction = \"{call}\"\nerror = \"TIMEOUT\""
        );
        let gpus = read_scenario(&text).gpus;
        assert_eq!(gpus[0], healthy[0], "{call}");
        assert_eq!(gpus[1].errors, [failed(call, "TIMEOUT")], "{call}");
        assert!(!gpus[1].lost, "{call}");
        assert_eq!(values_changed(&gpus[1], &healthy[1]), changed_by(call), "{call}");
    }
}

/// How many top-level values of the reading one call is behind, errors aside.
fn changed_by(call: &str) -> usize {
    match call {
        "nvmlDeviceGetTotalEccErrors" | "nvmlDeviceGetRemappedRows" => 4,
        "nvmlDeviceGetGpuFabricInfoV" | "nvmlDeviceGetMemoryInfo_v2" => 2,
        // Nothing to lose on a healthy board of this kind.
        "nvmlDeviceGetRetiredPages_v2" | "nvmlDeviceGetRetiredPagesPendingStatus" => 0,
        "nvmlDeviceGetComputeRunningProcesses_v3" => 0,
        _ => 1,
    }
}

fn values_changed(now: &GpuReading, before: &GpuReading) -> usize {
    let fields = |gpu: &GpuReading| match serde_json::to_value(gpu).unwrap() {
        serde_json::Value::Object(fields) => fields,
        _ => unreachable!("a structure"),
    };
    let (now, before) = (fields(now), fields(before));
    now.iter().filter(|(key, value)| *key != "errors" && before.get(*key) != Some(value)).count()
}

#[test]
fn what_a_driver_does_not_have_is_absent_and_no_error() {
    for error in ["NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "ARGUMENT_VERSION_MISMATCH"] {
        let faults: String = CALLS
            .iter()
            .map(|call| format!("[[fault]]\nkind = \"error\"\nfunction = \"{call}\"\nerror = \"{error}\"\n"))
            .collect();
        let reading = read_scenario(&format!("gpus = 1\n{faults}"));
        assert_eq!(reading.state, NvmlState::Ok);
        let expected = GpuReading {
            index: 0,
            // These two have an older call to fall back on.
            temperature_c: Some(34),
            fabric_state: Some("completed".to_owned()),
            fabric_status: Some("success".to_owned()),
            ..GpuReading::default()
        };
        assert_eq!(reading.gpus, [expected], "{error}");
    }
}

#[test]
fn a_repeated_failure_is_noted_once() {
    let gpus = fault(
        "kind = \"error\"\ngpu = 0\nfunction = \"nvmlDeviceGetNvLinkErrorCounter\"\nerror = \"UNKNOWN\"",
    )
    .gpus;
    assert_eq!(gpus[0].errors, [failed("nvmlDeviceGetNvLinkErrorCounter", "UNKNOWN")]);
    assert_eq!(gpus[0].nvlinks.len(), 18);
    assert!(gpus[0].nvlinks.iter().all(|link| link.active && link.crc.is_none()));
}

#[test]
fn each_scripted_fault_shows_in_the_reading() {
    let gpu = |keys: &str| fault(&format!("gpu = 2\n{keys}")).gpus.swap_remove(2);
    let ecc = gpu("kind = \"ecc\"\ncount = 2");
    assert_eq!(
        (ecc.ecc_uncorrected, ecc.ecc_uncorrected_aggregate, ecc.ecc_corrected),
        (Some(2), Some(2), Some(0))
    );
    let pending = gpu("kind = \"remap_pending\"");
    assert_eq!((pending.remap_pending, pending.remap_failed), (Some(true), Some(false)));
    assert_eq!(pending.recovery_action.as_deref(), Some("gpu_reset"));
    let worn = gpu("kind = \"remap_failed\"");
    assert_eq!((worn.remap_failed, worn.recovery_action.as_deref()), (Some(true), Some("node_reboot")));
    let hot =
        gpu("kind = \"set\"\nset = { temperature_c = 93, throttle = [\"hw_thermal\", \"hw_slowdown\"] }");
    assert_eq!(hot.temperature_c, Some(93));
    assert_eq!(hot.throttle, Some(vec!["hw_slowdown".to_owned(), "hw_thermal".to_owned()]));
    let slow = gpu("kind = \"set\"\nset = { pcie_width = 4 }");
    assert_eq!((slow.pcie_width, slow.pcie_width_max), (Some(4), Some(16)));
    let unlinked =
        gpu("kind = \"set\"\nset = { nvlink = [{ link = 5, state = \"active_traffic_disabled\" }] }");
    let down: Vec<u32> = unlinked.nvlinks.iter().filter(|link| !link.active).map(|link| link.link).collect();
    assert_eq!(down, [5]);
    let absent = fault("kind = \"absent\"\ngpu = 2").gpus;
    assert_eq!(absent.iter().map(|gpu| gpu.index).collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
    let unregistered =
        gpu("kind = \"set\"\nset = { fabric_state = \"not_started\", fabric_status = \"UNKNOWN\" }");
    assert_eq!(
        (unregistered.fabric_state.as_deref(), unregistered.fabric_status),
        (Some("not_started"), None)
    );
}

#[test]
fn states_of_the_driver_are_told_apart() {
    for (error, state) in [
        ("DRIVER_NOT_LOADED", NvmlState::DriverNotLoaded),
        ("LIB_RM_VERSION_MISMATCH", NvmlState::VersionMismatch),
        ("NO_PERMISSION", NvmlState::NoPermission),
        ("IRQ_ISSUE", NvmlState::Failed),
    ] {
        for function in ["nvmlInit", "nvmlDeviceGetCount"] {
            let reading = fault(&format!("kind = \"error\"\nfunction = \"{function}\"\nerror = \"{error}\""));
            assert_eq!(reading.state, state, "{function}");
            assert!(reading.detail.contains(error), "{}", reading.detail);
            assert!(reading.gpus.is_empty());
        }
    }
}

#[test]
fn a_missing_library_is_a_state_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("libnvidia-ml.so.1");
    let reading = read(&missing);
    assert_eq!(reading.state, NvmlState::LibraryMissing);
    assert!(reading.detail.contains(missing.to_str().unwrap()));
}

#[test]
fn what_is_no_nvml_is_a_failure_and_not_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "this is no ELF file\n").unwrap();
    let empty = folder.path().join("empty.so");
    std::fs::write(&empty, "").unwrap();
    for library in [&text, &empty, &folder.path().to_owned(), &PathBuf::from("libc.so.6")] {
        let reading = read(library);
        assert_eq!(reading.state, NvmlState::Failed, "{}", library.display());
        assert!(!reading.detail.is_empty() && !reading.detail.contains('\n'));
    }
}

#[test]
fn a_wrong_scenario_is_a_failure_with_its_return_code() {
    let reading = read_scenario("nonsense");
    assert_eq!(reading.state, NvmlState::Failed);
    assert!(reading.detail.contains("INVALID_ARGUMENT"), "{}", reading.detail);
}

#[test]
fn the_progress_names_each_gpu_before_it_is_touched() {
    let sim = Sim::new("gpus = 2\n[[fault]]\nkind = \"lost\"\ngpu = 1");
    let mut seen = Vec::new();
    nvml::read(Some(&sim.library()), |progress| seen.push(progress));
    assert_eq!(seen, [Progress::Opening, Progress::Gpu(0), Progress::Gpu(1), Progress::Closing]);
}

#[test]
fn nothing_stays_open_after_a_sweep() {
    let sim = Sim::new("gpus = 1");
    assert_eq!(sim.read().gpus.len(), 1);
    // The simulator reads its scenario again only after the last user has left.
    std::fs::write(sim.folder.path().join("nvml-sim.toml"), "format = 1\ngpus = 2").unwrap();
    assert_eq!(sim.read().gpus.len(), 2);
}

#[test]
fn a_reading_survives_its_way_through_json() {
    let reading = fault("kind = \"lost\"\ngpu = 3");
    let text = serde_json::to_string(&reading).unwrap();
    assert_eq!(serde_json::from_str::<NvmlReading>(&text).unwrap(), reading);
}
