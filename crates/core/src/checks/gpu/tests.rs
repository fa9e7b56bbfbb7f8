//! Each check on a healthy node, and with one thing broken.
use std::collections::BTreeMap;

use super::*;
use crate::checks::ALL;
use crate::checks::scene::{Scene, address, span};
use crate::facts::Sheet;
use crate::facts::driver::GpuOwner;
use crate::facts::pci::PciDevice;
use crate::reading::GpuProcess;
use crate::{Confidence, ExitStatus, JobSpan, Stamp};

fn ours() -> impl Iterator<Item = &'static Check> {
    ALL.iter().filter(|check| ["gpu_", "pcie_", "nic_"].iter().any(|family| check.name.starts_with(family)))
}

#[test]
fn nothing_is_found_on_a_healthy_node() {
    let scene = Scene::healthy();
    for check in ours() {
        let findings = scene.look(check);
        assert!(findings.bad.is_empty() && findings.blind.is_empty(), "{}: {findings:?}", check.name);
    }
    assert!(ours().count() >= 34);
}

#[test]
fn nothing_is_found_on_a_node_seen_for_the_first_time() {
    let mut scene = Scene::healthy();
    (scene.baseline, scene.before, scene.nvml_before) = (None, None, None);
    scene.facts.gres = Some(Sheet::read(crate::facts::gres::GresFacts::default()));
    scene.port(7).state = "down".to_owned();
    for check in ours() {
        let findings = scene.look(check);
        assert!(findings.bad.is_empty() && findings.blind.is_empty(), "{}: {findings:?}", check.name);
    }
}

#[test]
fn nothing_is_found_on_a_node_without_gpus_or_adapters() {
    let mut scene = Scene::healthy();
    (scene.baseline, scene.before, scene.nvml_before, scene.nvml) = (None, None, None, None);
    scene.facts.gres = Some(Sheet::read(crate::facts::gres::GresFacts::default()));
    scene.facts.pci = Some(Sheet::read(PciFacts::default()));
    scene.facts.nic = Some(Sheet::read(crate::facts::nic::NicFacts::default()));
    scene.facts.driver = Some(Sheet::read(DriverFacts::default()));
    for check in ours() {
        let findings = scene.look(check);
        assert!(findings.bad.is_empty() && findings.blind.is_empty(), "{}: {findings:?}", check.name);
    }
}

#[test]
fn an_nvml_that_hangs_is_blindness_and_no_fault() {
    let mut scene = Scene::healthy();
    scene.nvml = None;
    scene.nvml_blind = Some("no answer within 20000 ms (at nvml gpu 3)".to_owned());
    for check in ours().filter(|check| check.name.starts_with("gpu_")) {
        let findings = scene.look(check);
        assert!(findings.bad.is_empty(), "{}: {findings:?}", check.name);
    }
    assert!(scene.look(&COUNT).blind[0].1.contains("gpu 3"));
    assert!(!scene.look(&DRIVER).blind.is_empty());
}

#[test]
fn a_gpu_missing_from_nvml_is_told_from_one_missing_on_the_bus() {
    let mut scene = Scene::healthy();
    scene.nvml.as_mut().unwrap().gpus.remove(4);
    assert_eq!(
        scene.bad(&COUNT),
        ["gpu:0000:9d:00.0 | 7 of 8 GPUs (gres.conf): 0000:9d:00.0 missing from NVML, present on PCI"]
    );
    scene.device(4).answers = Some(false);
    assert!(scene.bad(&COUNT)[0].ends_with("it has fallen off the bus"));
    assert_eq!(scene.bad(&BUS).len(), 1);
    scene.device(4).answers = Some(true);
    scene.device(4).driver = Some("vfio-pci".to_owned());
    assert!(scene.bad(&COUNT)[0].ends_with("bound to the driver vfio-pci"));
    scene.facts.pci.as_mut().unwrap().said.as_mut().unwrap().devices.remove(4);
    assert!(scene.bad(&COUNT)[0].ends_with("0000:9d:00.0 missing from NVML and from the PCI bus"));
    // The look before this one missed it already.
    (scene.baseline, scene.nvml_before) = (None, None);
    scene.was_bad(&COUNT, "gpu:0000:9d:00.0");
    assert!(scene.bad(&COUNT)[0].starts_with("gpu:0000:9d:00.0"));
    // Where nobody remembers it, its place cannot be named.
    scene.last = None;
    assert_eq!(scene.bad(&COUNT), ["host | 7 of 8 GPUs (gres.conf): 1 missing that were never seen here"]);
    assert_eq!(scene.look(&COUNT).bad[0].confidence, Confidence::Confirmed);
}

#[test]
fn a_promise_of_more_gpus_than_the_node_was_admitted_with_is_only_suspected() {
    let mut scene = Scene::healthy();
    scene.expect.gpus = 16;
    let found = scene.look(&COUNT).bad;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].confidence, found[0].text.as_str()),
        (
            Confidence::Suspected,
            "8 of 16 GPUs ([expect]): 8 missing that were never seen here, and the baseline's 8 are all there"
        )
    );
}

#[test]
fn with_a_simulated_nvml_the_bus_has_no_word() {
    let mut scene = Scene::healthy();
    scene.facts.pci = Some(Sheet::read(PciFacts::default()));
    assert!(scene.bad(&COUNT).is_empty());
    scene.nvml.as_mut().unwrap().gpus.remove(4);
    assert!(
        scene.bad(&COUNT)[0].contains("0000:9d:00.0 missing from NVML (no GPU on this machine's PCI bus")
    );
}

#[test]
fn a_lost_gpu_is_counted_and_not_missing() {
    let mut scene = Scene::healthy();
    let index = scene.gpu(4).index;
    *scene.gpu(4) = GpuReading { index, lost: true, ..GpuReading::default() };
    assert!(scene.bad(&COUNT).is_empty());
    assert_eq!(scene.bad(&LOST).len(), 1);
    scene.nvml.as_mut().unwrap().gpus.remove(5);
    assert_eq!(scene.bad(&COUNT).len(), 1);
    assert!(
        scene.bad(&COUNT)[0].contains("0000:c3:00.0 missing from NVML, present on PCI"),
        "{:?}",
        scene.bad(&COUNT)
    );
}

#[test]
fn who_says_how_many_gpus_is_named_and_the_site_comes_first() {
    let mut scene = Scene::healthy();
    scene.expect.gpus = 9;
    assert!(scene.bad(&COUNT)[0].contains("8 of 9 GPUs ([expect])"));
    scene.expect.gpus = 0;
    scene.gres().count = 4;
    let findings = scene.look(&COUNT);
    assert!(findings.bad.is_empty() && findings.remark.contains("NVML counts 8 GPUs, gres.conf has 4"));
    scene.facts.gres = Some(Sheet::read(crate::facts::gres::GresFacts::default()));
    scene.nvml.as_mut().unwrap().gpus.remove(0);
    assert!(scene.bad(&COUNT)[0].contains("7 of 8 GPUs (baseline)"));
}

#[test]
fn gpus_of_another_maker_are_not_missing_from_nvml() {
    let mut scene = Scene::healthy();
    (scene.baseline, scene.nvml_before, scene.nvml) = (None, None, None);
    scene.facts.pci = Some(Sheet::read(PciFacts::default()));
    *scene.driver() = DriverFacts::default();
    scene.gres().nvidia = false;
    assert!(scene.bad(&COUNT).is_empty() && scene.bad(&DRIVER).is_empty());
}

#[test]
fn a_node_with_gpus_in_gres_conf_and_no_driver_is_out_of_order() {
    let mut scene = Scene::healthy();
    scene.nvml = None;
    scene.driver().modules.clear();
    assert_eq!(
        scene.bad(&DRIVER),
        ["service:nvidia-driver | 8 GPUs in gres.conf, but the kernel module nvidia is not loaded"]
    );
    assert_eq!(DRIVER.action, crate::checks::CheckAction::Drain);
    scene.nvml = Some(NvmlReading { state: NvmlState::VersionMismatch, ..NvmlReading::default() });
    assert!(scene.bad(&DRIVER)[0].contains("different versions"));
    scene.nvml = Some(NvmlReading { state: NvmlState::Failed, ..NvmlReading::default() });
    assert!(scene.bad(&DRIVER).is_empty() && !scene.look(&DRIVER).blind.is_empty());
}

#[test]
fn what_was_bad_is_not_good_because_it_is_gone() {
    let mut scene = Scene::healthy();
    scene.was_bad(&THROTTLE, "gpu:0000:9d:00.0");
    assert!(scene.look(&THROTTLE).blind.is_empty());
    scene.nvml.as_mut().unwrap().gpus.remove(4);
    scene.facts.pci.as_mut().unwrap().said.as_mut().unwrap().devices.remove(4);
    for check in [THROTTLE, WIDTH, AER] {
        let blind = scene.look(&check).blind;
        assert!(
            blind.iter().any(|(on, _)| on.as_ref().is_some_and(|on| on.to_string() == "gpu:0000:9d:00.0")),
            "{}",
            check.name
        );
    }
    scene.nvml = Some(NvmlReading { state: NvmlState::DriverNotLoaded, ..NvmlReading::default() });
    let findings = scene.look(&THROTTLE);
    assert!(
        findings.blind.iter().any(|(on, _)| on.is_none()),
        "no driver where there should be one: {findings:?}"
    );
}

#[test]
fn a_missing_device_file_is_named() {
    let mut scene = Scene::healthy();
    scene.driver().device_files.retain(|file| *file != 3);
    assert_eq!(
        scene.bad(&DEVICE_FILES),
        ["gpu:0000:61:00.0 | NVML counts the GPU, but /dev/nvidia3 does not exist"]
    );
    scene.driver().control_file = false;
    assert!(scene.bad(&DEVICE_FILES).is_empty(), "a simulated driver has no device files");
}

#[test]
fn what_the_sweep_makes_cases_of_is_listed() {
    let mut scene = Scene::healthy();
    scene.gpu(0).ecc_uncorrected = Some(2);
    scene.gpu(1).remap_failed = Some(true);
    scene.gpu(2).remap_pending = Some(true);
    scene.gpu(3).recovery_action = Some("node_reboot".to_owned());
    scene.gpu(4).retired_pending = Some(true);
    let found: Vec<usize> =
        [ECC, REMAP, RECOVERY, RETIRED].iter().map(|check| scene.bad(check).len()).collect();
    assert_eq!(found, [1, 2, 1, 1]);
    assert!([LOST, ECC, REMAP, RECOVERY, RETIRED].iter().all(|check| check.listed));
}

#[test]
fn corrected_errors_count_by_the_hour_and_only_grown_ones() {
    let mut scene = Scene::healthy();
    scene.gpu(0).ecc_corrected = Some(5 + 800);
    assert!(scene.bad(&ECC_CORRECTED).is_empty(), "9600 an hour");
    scene.gpu(0).ecc_corrected = Some(5 + 900);
    assert_eq!(scene.bad(&ECC_CORRECTED).len(), 1);
    scene.gpu(0).serial = Some("other".to_owned());
    assert!(scene.bad(&ECC_CORRECTED).is_empty(), "another board's counter is no growth");
    scene.gpu(1).ecc_corrected = Some(0);
    assert!(scene.bad(&ECC_CORRECTED).is_empty(), "a reset counter is no growth");
}

#[test]
fn remapped_rows_are_counted_from_the_baseline() {
    let mut scene = Scene::healthy();
    scene.gpu(0).remap_uncorrected = Some(8);
    assert!(scene.bad(&REMAP_GROWTH).is_empty());
    scene.gpu(0).remap_corrected = Some(1);
    assert!(scene.bad(&REMAP_GROWTH)[0].contains("8 rows remapped since the baseline (1 then, 9 now)"));
}

#[test]
fn heat_power_and_persistence_are_told_apart_from_a_power_cap() {
    let mut scene = Scene::healthy();
    scene.gpu(0).throttle = Some(vec!["sw_power_cap".to_owned()]);
    assert!(scene.bad(&THROTTLE).is_empty());
    scene.gpu(0).throttle = Some(vec!["hw_power_brake".to_owned(), "hw_slowdown".to_owned()]);
    assert!(scene.bad(&THROTTLE)[0].contains("hardware slowdown, power brake asserted from outside"));
    scene.gpu(1).temperature_c = Some(84);
    assert!(scene.bad(&TEMPERATURE).is_empty());
    scene.gpu(1).temperature_c = Some(85);
    assert_eq!(scene.bad(&TEMPERATURE).len(), 1);
    scene.gpu(2).persistence = Some(false);
    assert_eq!(scene.bad(&PERSISTENCE).len(), 1);
}

#[test]
fn a_busy_gpu_that_draws_little_is_told() {
    let mut scene = Scene::healthy();
    (scene.gpu(0).utilization, scene.gpu(0).power_mw, scene.gpu(0).power_limit_mw) =
        (Some(100), Some(650_000), Some(700_000));
    assert!(scene.bad(&SPINNING).is_empty());
    scene.gpu(0).power_mw = Some(140_000);
    assert_eq!(scene.bad(&SPINNING), ["gpu:0000:1b:00.0 | GPU 0: all busy at 140 W of 700 W"]);
    scene.gpu(0).power_limit_mw = Some(0);
    assert!(scene.bad(&SPINNING).is_empty());
}

#[test]
fn redirected_peer_traffic_is_shown_and_is_no_fault() {
    let mut scene = Scene::healthy();
    scene.baseline = None;
    scene.device(0).port_redirects = Some(true);
    scene.device(1).port_redirects = Some(false);
    let findings = scene.look(&ACS);
    assert!(findings.bad.is_empty());
    assert!(findings.remark.contains("1 of 2 bridges"), "{findings:?}");
}

#[test]
fn a_link_that_nobody_connected_is_not_down() {
    let mut scene = Scene::healthy();
    scene.gpu(0).nvlinks[5].active = false;
    assert!(scene.bad(&NVLINK)[0].contains("17 of 18 NVLinks up (baseline), down: 5"));
    scene.baseline = None;
    assert!(scene.bad(&NVLINK)[0].contains("(the other GPUs)"));
    for index in 0..8 {
        scene.gpu(index).nvlinks[5].active = false;
    }
    assert!(scene.bad(&NVLINK).is_empty());
}

#[test]
fn nvlink_errors_count_by_the_second() {
    let mut scene = Scene::healthy();
    scene.gpu(0).nvlinks[2].crc = Some(29_999);
    assert!(scene.bad(&NVLINK_ERRORS).is_empty());
    scene.gpu(0).nvlinks[2].crc = Some(30_000);
    assert!(scene.bad(&NVLINK_ERRORS)[0].contains("GPU 0 link 2: 30000 errors"));
    scene.gpu(0).nvlinks[2].crc = Some(0);
    assert!(scene.bad(&NVLINK_ERRORS).is_empty(), "a reset counter is no growth");
}

#[test]
fn the_fabric_and_its_services() {
    let mut scene = Scene::healthy();
    scene.gpu(0).fabric_state = Some("in_progress".to_owned());
    scene.gpu(1).fabric_status = Some("timeout".to_owned());
    scene.gpu(2).fabric_state = Some("not_started".to_owned());
    assert_eq!(scene.bad(&FABRIC).len(), 2, "without NVSwitches a fabric need not start");
    let switch = PciDevice { address: address(5), kind: PciKind::NvSwitch, ..PciDevice::default() };
    scene.facts.pci.as_mut().unwrap().said.as_mut().unwrap().devices.push(switch);
    assert_eq!(scene.bad(&FABRIC).len(), 3);
    assert!(scene.bad(&FABRIC_SERVICES).is_empty(), "whether it runs is not known");
    scene.driver().fabric_manager = Some(false);
    scene.driver().imex = Some(false);
    assert_eq!(scene.bad(&FABRIC_SERVICES).len(), 1, "no IMEX domain is configured");
    scene.driver().imex_configured = true;
    assert_eq!(scene.bad(&FABRIC_SERVICES).len(), 2);
}

#[test]
fn width_is_judged_always_and_speed_only_at_work() {
    let mut scene = Scene::healthy();
    assert!(scene.bad(&SPEED).is_empty(), "generation 1 while idle");
    scene.device(0).link.width = Some(8);
    assert_eq!(scene.bad(&WIDTH), ["gpu:0000:1b:00.0 | 0000:1b:00.0: 8 of 16 PCIe lanes"]);
    scene.device(0).port_width_max = Some(8);
    assert!(scene.bad(&WIDTH)[0].contains("16 when the baseline was learned"));
    scene.baseline = None;
    assert!(scene.bad(&WIDTH).is_empty(), "a slot of eight lanes is no fault of the card");
    scene.gpu(1).processes = vec![GpuProcess { pid: 1, memory: None }];
    scene.gpu(1).throttle = Some(Vec::new());
    assert!(scene.bad(&SPEED)[0].contains("generation 1 of 5 while it works"));
}

#[test]
fn without_the_bus_nvml_tells_the_width() {
    let mut scene = Scene::healthy();
    scene.facts.pci = Some(Sheet::read(PciFacts::default()));
    scene.gpu(3).pcie_width = Some(4);
    assert_eq!(scene.bad(&WIDTH), ["gpu:0000:61:00.0 | GPU 3: 4 of 16 PCIe lanes (NVML)"]);
}

#[test]
fn replays_and_bus_errors_count_when_they_grow() {
    let mut scene = Scene::healthy();
    scene.gpu(0).pcie_replays = Some(3 + 39);
    assert!(scene.bad(&REPLAYS).is_empty());
    scene.gpu(0).pcie_replays = Some(3 + 40);
    assert_eq!(scene.bad(&REPLAYS).len(), 1);
    scene.device(0).aer.as_mut().unwrap().correctable = 80;
    assert!(scene.bad(&AER_CORRECTED).is_empty(), "960 an hour");
    scene.device(0).aer.as_mut().unwrap().correctable = 90;
    assert_eq!(scene.bad(&AER_CORRECTED).len(), 1);
    assert!(scene.bad(&AER).is_empty());
    scene.device(1).port_aer.as_mut().unwrap().nonfatal = 1;
    assert!(
        scene.bad(&AER)[0].contains("0000:42:01.0, the bridge above 0000:43:00.0"),
        "{:?}",
        scene.bad(&AER)
    );
}

#[test]
fn mixed_firmware_and_a_half_updated_driver_are_named() {
    let mut scene = Scene::healthy();
    scene.gpu(6).vbios = Some("96.00.74.00.02".to_owned());
    assert!(scene.bad(&VERSIONS)[0].contains("VBIOS 96.00.74.00.02, 96.00.89.00.01 on most others"));
    scene.driver().version = Some("570.86.15".to_owned());
    assert_eq!(scene.bad(&VERSIONS).len(), 2);
    for index in 0..4 {
        scene.gpu(index).vbios = Some("96.00.74.00.02".to_owned());
    }
    scene.gpu(6).vbios = Some("96.00.89.00.01".to_owned());
    assert_eq!(scene.bad(&VERSIONS).len(), 1, "half and half: nobody can say which is right");
    scene.expect.vbios = "96.00.89.00.01".to_owned();
    assert_eq!(scene.bad(&VERSIONS).len(), 5);
}

#[test]
fn a_swapped_board_is_told_as_a_swap() {
    let mut scene = Scene::healthy();
    scene.gpu(4).serial = Some("1657".to_owned());
    assert_eq!(
        scene.bad(&IDENTITY),
        [
            "gpu:0000:9d:00.0 | GPU 4: board 1657, which was at 0000:df:00.0; 1654 when the baseline was learned: the board was swapped"
        ]
    );
}

#[test]
fn mig_mode_and_slurm_must_agree() {
    let mut scene = Scene::healthy();
    scene.gpu(0).mig = Some(true);
    assert!(scene.bad(&MIG)[0].contains("MIG mode is on, and gres.conf has whole GPUs only"));
    scene.gres().mig = true;
    scene.gres().count = 14;
    assert!(scene.bad(&MIG).is_empty(), "the number of MIG devices is not known");
    scene.driver().mig_devices.insert(0, 6);
    assert!(scene.bad(&MIG)[0].contains("13 MIG devices and whole GPUs, 14 in gres.conf"));
    scene.driver().mig_devices.insert(0, 7);
    assert!(scene.bad(&MIG).is_empty());
    scene.gpu(0).mig = Some(false);
    assert!(scene.bad(&MIG)[0].contains("no GPU is in MIG mode"));
}

#[test]
fn what_a_job_left_on_a_gpu_is_told_and_what_a_job_uses_is_not() {
    let mut scene = Scene::healthy();
    scene.gpu(2).processes = vec![GpuProcess { pid: 77, memory: None }];
    assert!(scene.bad(&LEFT_PROCESSES).is_empty(), "/proc does not know it");
    scene.driver().owners =
        vec![GpuOwner { pid: 77, name: "python3".to_owned(), uid: Some(1000), job: None }];
    assert!(scene.bad(&LEFT_PROCESSES)[0].contains("GPU 2: process 77 (python3) of uid 1000 is in no job"));
    scene.driver().owners[0].job = Some(4711);
    assert!(scene.bad(&LEFT_PROCESSES).is_empty());
    scene.driver().owners[0] =
        GpuOwner { pid: 77, name: "nv-hostengine".to_owned(), uid: Some(0), job: None };
    assert!(scene.bad(&LEFT_PROCESSES).is_empty());
    scene.gpu(3).memory_used = Some(700 << 20);
    assert!(scene.bad(&LEFT_MEMORY)[0].contains("GPU 3: 700 MiB in use"));
    scene.spans = vec![span(&[3])];
    assert!(scene.bad(&LEFT_MEMORY).is_empty());
    scene.spans = vec![span(&[4])];
    assert_eq!(scene.bad(&LEFT_MEMORY).len(), 1);
    scene.spans = vec![span(&[])];
    assert!(scene.bad(&LEFT_MEMORY).is_empty(), "a job whose GPUs are not known may have any");
    scene.spans =
        vec![JobSpan { end: Some(Stamp::from_secs(1)), exit: Some(ExitStatus::Exit(0)), ..span(&[]) }];
    assert_eq!(scene.bad(&LEFT_MEMORY).len(), 1);
}

#[test]
fn mig_devices_are_compared_by_profile_where_slurm_names_profiles() {
    let mut scene = Scene::healthy();
    let profiles = |all: &[(&str, u32)]| -> BTreeMap<String, u32> {
        all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    for index in 0..8 {
        scene.gpu(index).mig = Some(true);
        scene.gpu(index).mig_profiles = profiles(&[("1g.10gb", 4), ("3g.40gb", 1)]);
    }
    scene.gres().mig = true;
    scene.gres().count = 40;
    scene.gres().types = profiles(&[("nvidia_h100_80gb_hbm3_1g.10gb", 32), ("h100_3g.40gb", 8)]);
    assert!(scene.bad(&MIG).is_empty(), "{:?}", scene.bad(&MIG));
    // The same number of devices in another layout.
    scene.gpu(0).mig_profiles = profiles(&[("1g.10gb", 5)]);
    assert_eq!(
        scene.bad(&MIG),
        ["host | MIG devices 33x 1g.10gb, 7x 3g.40gb, 32x 1g.10gb, 8x 3g.40gb in gres.conf"]
    );
    // Where the driver is too old to tell profiles, their number is compared as before.
    for index in 0..8 {
        scene.gpu(index).mig_profiles.clear();
        scene.driver().mig_devices.insert(u32::try_from(index).unwrap(), 5);
    }
    assert!(scene.bad(&MIG).is_empty());
}

#[test]
fn an_iommu_or_a_bridge_that_changed_since_the_baseline_is_told() {
    let mut scene = Scene::healthy();
    assert!(scene.bad(&ACS).is_empty());
    scene.device(0).iommu_group = Some(7);
    scene.device(1).port_redirects = Some(true);
    assert_eq!(
        scene.bad(&ACS),
        [
            "host | the IOMMU is on, off when the baseline was learned; 1 bridges redirect peer traffic to the root, 0 when \
          the baseline was learned"
        ]
    );
    scene.baseline = None;
    assert!(scene.bad(&ACS).is_empty(), "which of speed and isolation a site wants is its own choice");
}

#[test]
fn pages_retired_over_the_years_are_told_from_sixty_on() {
    let mut scene = Scene::healthy();
    scene.gpu(1).retired_pages = Some(59);
    assert!(scene.bad(&RETIRED_COUNT).is_empty());
    scene.gpu(1).retired_pages = Some(60);
    assert!(scene.bad(&RETIRED_COUNT)[0].contains("GPU 1: 60 memory pages are retired"));
}
