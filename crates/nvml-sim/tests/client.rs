//! The library as a client sees it that knows nothing of the simulation: `nvml-wrapper`, loading the shared object.
//!
//! Each test works on a copy of the library with its scenario beside it, so that tests in one process do not share state.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as expected")]

use std::path::{Path, PathBuf};

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, RetirementCause, TemperatureSensor, TemperatureThreshold,
};
use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;

// Naming the crate is what makes Cargo build the shared object next to this test.
use nvidia_ml as _;

struct Sim {
    folder: tempfile::TempDir,
}

impl Sim {
    fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(built_library(), folder.path().join("libnvidia-ml.so.1")).unwrap();
        std::fs::write(folder.path().join("nvml-sim.toml"), format!("format = 1\nnode = \"n1\"\n{scenario}"))
            .unwrap();
        Self { folder }
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("libnvidia-ml.so.1")
    }

    fn init(&self) -> Result<Nvml, NvmlError> {
        Nvml::builder().lib_path(self.library().as_os_str()).init()
    }
}

fn built_library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join("libnvidia_ml.so")
}

#[test]
fn a_healthy_node_reads_as_one() {
    let sim = Sim::new("");
    let nvml = sim.init().unwrap();
    assert_eq!(nvml.sys_driver_version().unwrap(), "580.95.05");
    assert_eq!(nvml.device_count().unwrap(), 8);
    for index in 0..8 {
        let gpu = nvml.device_by_index(index).unwrap();
        assert_eq!(gpu.index().unwrap(), index);
        assert_eq!(gpu.minor_number().unwrap(), index);
        assert_eq!(gpu.name().unwrap(), "NVIDIA H100 80GB HBM3");
        assert_eq!(nvml.device_by_uuid(gpu.uuid().unwrap()).unwrap().index().unwrap(), index);
        assert_eq!(
            nvml.device_by_pci_bus_id(gpu.pci_info().unwrap().bus_id).unwrap().index().unwrap(),
            index
        );
        assert!(gpu.link_wrapper_for(17).is_active().unwrap());
        assert!(matches!(gpu.link_wrapper_for(18).is_active(), Err(NvmlError::InvalidArg)));
        assert!(matches!(
            gpu.retired_pages(RetirementCause::DoubleBitEccError),
            Err(NvmlError::NotSupported)
        ));
        assert!(gpu.running_compute_processes().unwrap().is_empty());
    }
    assert!(matches!(nvml.device_by_index(8), Err(NvmlError::InvalidArg)));
}

#[test]
fn scripted_values_arrive_in_the_right_places() {
    let sim = Sim::new(
        r#"
        gpus = 1
        [driver]
        version = "570.10"
        nvml = "12.570.10"
        cuda = 12080
        [[gpu]]
        index = 0
        pci = "00010000:ab:1f.0"
        ecc_corrected = 1
        ecc_corrected_aggregate = 2
        ecc_uncorrected = 3
        ecc_uncorrected_aggregate = 4
        retired_single_bit = 2
        retired_double_bit = 0
        retired_pending = true
        temperature_c = 71
        power_w = 651.25
        power_limit_w = 700
        pcie_gen = 4
        pcie_gen_max = 5
        pcie_width = 8
        pcie_width_max = 16
        pcie_replays = 17
        mig = "enabled"
        mig_pending = "disabled"
        persistence = false
        memory_total_mib = 1000
        memory_used_mib = 10
        processes = [{ pid = 11, memory_mib = 5 }, { pid = 12 }]
        nvlink = [{ link = 3, state = "inactive", replay = 5, recovery = 6, crc_flit = 7, crc_data = 8 }]
        clock_sm_mhz = 1111
        clock_memory_mhz = 2222
        utilization_gpu = 33
        "#,
    );
    let nvml = sim.init().unwrap();
    assert_eq!(nvml.sys_nvml_version().unwrap(), "12.570.10");
    assert_eq!(nvml.sys_cuda_driver_version().unwrap(), 12080);
    let gpu = nvml.device_by_index(0).unwrap();
    let pci = gpu.pci_info().unwrap();
    assert_eq!(
        (pci.domain, pci.bus, pci.device, pci.bus_id.as_str()),
        (0x10000, 0xab, 0x1f, "00010000:AB:1F.0")
    );
    let ecc = |error, counter| gpu.total_ecc_errors(error, counter).unwrap();
    assert_eq!(ecc(MemoryError::Corrected, EccCounter::Volatile), 1);
    assert_eq!(ecc(MemoryError::Corrected, EccCounter::Aggregate), 2);
    assert_eq!(ecc(MemoryError::Uncorrected, EccCounter::Volatile), 3);
    assert_eq!(ecc(MemoryError::Uncorrected, EccCounter::Aggregate), 4);
    assert_eq!(gpu.retired_pages(RetirementCause::MultipleSingleBitEccErrors).unwrap().len(), 2);
    assert_eq!(gpu.retired_pages(RetirementCause::DoubleBitEccError).unwrap().len(), 0);
    assert!(gpu.are_pages_pending_retired().unwrap());
    assert_eq!(gpu.temperature(TemperatureSensor::Gpu).unwrap(), 71);
    assert_eq!(gpu.temperature_threshold(TemperatureThreshold::Slowdown).unwrap(), 87);
    assert_eq!(gpu.temperature_threshold(TemperatureThreshold::Shutdown).unwrap(), 92);
    assert_eq!((gpu.power_usage().unwrap(), gpu.enforced_power_limit().unwrap()), (651_250, 700_000));
    assert_eq!((gpu.current_pcie_link_gen().unwrap(), gpu.max_pcie_link_gen().unwrap()), (4, 5));
    assert_eq!((gpu.current_pcie_link_width().unwrap(), gpu.max_pcie_link_width().unwrap()), (8, 16));
    assert_eq!(gpu.pcie_replay_counter().unwrap(), 17);
    let mig = gpu.mig_mode().unwrap();
    assert_eq!((mig.current, mig.pending), (1, 0));
    assert!(!gpu.is_in_persistent_mode().unwrap());
    let memory = gpu.memory_info().unwrap();
    assert_eq!((memory.total, memory.used, memory.free), (1000 << 20, 15 << 20, 985 << 20));
    let processes = gpu.running_compute_processes().unwrap();
    let seen: Vec<_> =
        processes.iter().map(|process| (process.pid, process.used_gpu_memory.clone())).collect();
    assert_eq!(seen, [(11, UsedGpuMemory::Used(5 << 20)), (12, UsedGpuMemory::Used(0))]);
    let link = gpu.link_wrapper_for(3);
    assert!(!link.is_active().unwrap());
    let counters =
        [ErrorCounter::DlReplay, ErrorCounter::DlRecovery, ErrorCounter::DlCrcFlit, ErrorCounter::DlCrcData];
    assert_eq!(counters.map(|counter| link.error_counter(counter).unwrap()), [5, 6, 7, 8]);
    assert_eq!((gpu.clock_info(Clock::SM).unwrap(), gpu.clock_info(Clock::Memory).unwrap()), (1111, 2222));
    assert_eq!(gpu.utilization_rates().unwrap().gpu, 33);
}

#[test]
fn a_lost_gpu_is_counted_and_answers_nothing() {
    let sim = Sim::new("[[fault]]\nkind = \"lost\"\ngpu = 3\nwhen_file = \"break\"");
    let nvml = sim.init().unwrap();
    let gpu = nvml.device_by_index(3).unwrap();
    let uuid = gpu.uuid().unwrap();
    std::fs::write(sim.folder.path().join("break"), "").unwrap();
    assert_eq!(nvml.device_count().unwrap(), 8);
    assert!(matches!(nvml.device_by_index(3), Err(NvmlError::GpuLost)));
    assert!(matches!(gpu.uuid(), Err(NvmlError::GpuLost)));
    assert!(matches!(nvml.device_by_uuid(uuid), Err(NvmlError::GpuLost)));
    assert!(nvml.device_by_index(4).unwrap().uuid().is_ok());
    std::fs::remove_file(sim.folder.path().join("break")).unwrap();
    assert!(gpu.uuid().is_ok());
}

#[test]
fn an_absent_gpu_leaves_no_gap() {
    let sim = Sim::new("[[gpu]]\nindex = 3\nserial = \"third\"\n[[fault]]\nkind = \"absent\"\ngpu = 2");
    let nvml = sim.init().unwrap();
    assert_eq!(nvml.device_count().unwrap(), 7);
    let gpu = nvml.device_by_index(2).unwrap();
    assert_eq!((gpu.serial().unwrap().as_str(), gpu.index().unwrap()), ("third", 2));
    assert!(matches!(nvml.device_by_index(7), Err(NvmlError::InvalidArg)));
}

#[test]
fn an_error_hits_one_function_of_one_gpu_only() {
    let sim = Sim::new(
        "[[fault]]\nkind = \"error\"\ngpu = 1\nfunction = \"nvmlDeviceGetSerial\"\nerror = \"RESET_REQUIRED\"",
    );
    let nvml = sim.init().unwrap();
    let gpu = nvml.device_by_index(1).unwrap();
    assert!(matches!(gpu.serial(), Err(NvmlError::ResetRequired)));
    assert!(gpu.uuid().is_ok());
    assert!(nvml.device_by_index(0).unwrap().serial().is_ok());
}

#[test]
fn an_error_of_everything_starts_with_init() {
    let sim = Sim::new("[[fault]]\nkind = \"error\"\nerror = \"DRIVER_NOT_LOADED\"");
    assert!(matches!(sim.init(), Err(NvmlError::DriverNotLoaded)));
    let sim =
        Sim::new("[[fault]]\nkind = \"error\"\nfunction = \"nvmlInit\"\nerror = \"LIB_RM_VERSION_MISMATCH\"");
    assert!(matches!(sim.init(), Err(NvmlError::LibRmVersionMismatch)));
}

#[test]
fn a_wrong_scenario_fails_init_as_no_driver_does() {
    for text in ["gpu = 8", "this is no TOML", "[[fault]]\nkind = \"lost\"\ngpu = 9"] {
        assert!(matches!(Sim::new(text).init(), Err(NvmlError::InvalidArg)), "{text}");
    }
    let sim = Sim::new("");
    std::fs::write(sim.folder.path().join("nvml-sim.toml"), b"format = 1\nnode = \"\xff\"").unwrap();
    assert!(matches!(sim.init(), Err(NvmlError::InvalidArg)));
}

#[test]
fn a_scenario_is_read_anew_after_shutdown() {
    let sim = Sim::new("gpus = 2");
    let nvml = sim.init().unwrap();
    std::fs::write(sim.folder.path().join("nvml-sim.toml"), "format = 1\ngpus = 3").unwrap();
    assert_eq!(nvml.device_count().unwrap(), 2);
    let second = sim.init().unwrap();
    assert_eq!(second.device_count().unwrap(), 2);
    nvml.shutdown().unwrap();
    assert_eq!(second.device_count().unwrap(), 2);
    second.shutdown().unwrap();
    assert_eq!(sim.init().unwrap().device_count().unwrap(), 3);
}

#[test]
fn a_hang_lasts_while_its_fault_does() {
    let sim = Sim::new(
        "[[fault]]\nkind = \"hang\"\ngpu = 0\nfunction = \"nvmlDeviceGetUUID\"\nuntil_file = \"over\"",
    );
    let nvml = sim.init().unwrap();
    let over = sim.folder.path().join("over");
    std::thread::scope(|threads| {
        let (began, begun) = std::sync::mpsc::channel();
        let nvml = &nvml;
        let hanging = threads.spawn(move || {
            let gpu = nvml.device_by_index(0).unwrap();
            began.send(()).unwrap();
            gpu.uuid()
        });
        begun.recv().unwrap();
        // Another thread is not held up, and by the time it has made these calls the first still hangs.
        for _ in 0..100 {
            assert!(nvml.device_by_index(1).unwrap().uuid().is_ok());
        }
        assert!(!hanging.is_finished());
        std::fs::write(&over, "").unwrap();
        assert!(hanging.join().unwrap().is_ok());
    });
}

#[test]
fn the_recovery_action_is_a_field_and_unknown_fields_are_not_supported() {
    let sim = Sim::new(
        "[[gpu]]\nindex = 0\nrecovery_action = \"drain_p2p\"\n[[gpu]]\nindex = 1\nrecovery_action = \"not_supported\"",
    );
    let nvml = sim.init().unwrap();
    let read = |index, field| {
        let gpu = nvml.device_by_index(index).unwrap();
        gpu.field_values_for(&[FieldId(field)]).unwrap().remove(0).unwrap().value
    };
    let action = read(0, field_id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
    assert!(matches!(action, Ok(SampleValue::U32(3))), "{action:?}");
    assert!(matches!(read(1, field_id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION), Err(NvmlError::NotSupported)));
    assert!(matches!(read(0, 9999), Err(NvmlError::NotSupported)));
}

#[test]
fn what_is_not_exported_is_missing_and_not_a_crash() {
    let sim = Sim::new("");
    let nvml = sim.init().unwrap();
    assert!(matches!(nvml.unit_count(), Err(NvmlError::FailedToLoadSymbol(_))));
    assert!(matches!(nvml.device_by_index(0).unwrap().board_id(), Err(NvmlError::FailedToLoadSymbol(_))));
}

#[test]
fn null_pointers_small_buffers_and_strange_handles_are_refused() {
    let sim = Sim::new("");
    let nvml = sim.init().unwrap();
    let (lib, gpu) = (nvml.lib(), nvml.device_by_index(0).unwrap());
    // SAFETY: the simulator checks for null, and writes at most as many bytes as it is told there are.
    unsafe {
        let handle = gpu.handle();
        let mut text: [std::ffi::c_char; 8] = [42; 8];
        let uuid = lib.nvmlDeviceGetUUID.as_ref().unwrap();
        assert_eq!(uuid(handle, std::ptr::null_mut(), 80), 2);
        assert_eq!(uuid(handle, text.as_mut_ptr(), 8), 7);
        assert_eq!(text, [42; 8]);
        assert_eq!(uuid(std::ptr::null_mut(), text.as_mut_ptr(), 8), 2);
        assert_eq!(uuid(handle.wrapping_byte_add(8), text.as_mut_ptr(), 8), 2);
        assert_eq!(lib.nvmlDeviceGetCount_v2.as_ref().unwrap()(std::ptr::null_mut()), 2);
        assert_eq!(lib.nvmlDeviceGetHandleByUUID.as_ref().unwrap()(std::ptr::null(), &mut gpu.handle()), 2);
    }
}

#[test]
fn nothing_works_before_init() {
    let sim = Sim::new("");
    let path = sim.library();
    // SAFETY: the library has no initialisers with preconditions; the two functions have the signatures of NVML.
    unsafe {
        let library = libloading(&path);
        assert_eq!(library.nvmlShutdown.as_ref().unwrap()(), 1);
        let mut count = 77;
        assert_eq!(library.nvmlDeviceGetCount_v2.as_ref().unwrap()(&mut count), 1);
        assert_eq!(count, 77);
        let text = library.nvmlErrorString.as_ref().unwrap()(15);
        assert_eq!(std::ffi::CStr::from_ptr(text).to_str().unwrap(), "GPU is lost");
    }
}

unsafe fn libloading(path: &Path) -> nvml_wrapper_sys::bindings::NvmlLib {
    // SAFETY: passed on to the caller.
    unsafe { nvml_wrapper_sys::bindings::NvmlLib::new(path) }.unwrap()
}

#[test]
fn every_exported_function_can_be_made_to_fail_and_nothing_else_is_exported() {
    let symbols = std::process::Command::new("nm")
        .args(["-D", "--defined-only", "--format=just-symbols"])
        .arg(built_library())
        .output()
        .unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let functions: Vec<&str> = symbols.lines().filter(|symbol| !symbol.starts_with('.')).collect();
    assert!(functions.len() > 50, "{functions:?}");
    for function in functions {
        assert!(function.starts_with("nvml"), "{function}");
        // Has no way to fail.
        if function == "nvmlErrorString" {
            continue;
        }
        let later = "at = 2100-01-01T00:00:00Z";
        let fault =
            format!("[[fault]]\nkind = \"error\"\nerror = \"TIMEOUT\"\nfunction = \"{function}\"\n{later}");
        assert!(Sim::new(&fault).init().is_ok(), "{function}");
    }
}
