//! A healthy eight-GPU node for the tests of checks, to be broken in one place at a time.
use crate::baseline::{Baseline, learn};
use crate::checks::{
    Check, CheckInput, CheckSettings, CheckState, CheckWord, Expect, Findings, Item, ItemState,
};
use crate::facts::driver::DriverFacts;
use crate::facts::gres::{ConfiguredGpus, GresFacts};
use crate::facts::nic::{NetInterface, NicFacts, RdmaPort};
use crate::facts::pci::{AerCounts, PciDevice, PciFacts, PciKind, PcieLink};
use crate::facts::{NodeFacts, Sheet};
use crate::pipeline::Trigger;
use crate::reading::{GpuReading, NvLinkReading, NvmlReading, NvmlState};
use crate::{BootId, JobAsk, JobSpan, NodeName, PciAddress, RunId, Stamp};

/// Everything a check can see.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) facts: NodeFacts,
    pub(super) before: Option<NodeFacts>,
    pub(super) nvml: Option<NvmlReading>,
    pub(super) nvml_before: Option<NvmlReading>,
    pub(super) nvml_blind: Option<String>,
    pub(super) expect: Expect,
    pub(super) baseline: Option<Baseline>,
    pub(super) spans: Vec<JobSpan>,
    pub(super) last: Option<CheckState>,
}

/// Buses of the GPUs.
pub(super) const BUSES: [u8; 8] = [0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf];

pub(super) fn address(bus: u8) -> PciAddress {
    PciAddress { bus, ..PciAddress::default() }
}

impl Scene {
    /// The look before this one found `resource` bad.
    pub(super) fn was_bad(&mut self, check: &Check, resource: &str) {
        let (at, boot) = (self.facts.at, self.facts.boot.clone());
        let item = Item { state: ItemState::Bad, since: at, boot: boot.clone() };
        self.last = Some(CheckState {
            name: check.name.to_owned(),
            state: CheckWord::Bad,
            since: at,
            at,
            boot,
            text: String::new(),
            value: None,
            cost_us: 0,
            items: std::iter::once((resource.to_owned(), item)).collect(),
        });
    }

    /// All is well: looked at twice, five minutes apart, with nothing between.
    pub(super) fn healthy() -> Self {
        let nvml = NvmlReading {
            state: NvmlState::Ok,
            driver_version: Some("580.95.05".to_owned()),
            gpus: (0..).zip(BUSES).map(|(index, bus)| gpu(index, bus)).collect(),
            ..NvmlReading::default()
        };
        let mut before = NodeFacts::new(Stamp::from_secs(1_000_000), BootId::from("b1"));
        before.pci = Some(Sheet::read(PciFacts { devices: BUSES.iter().map(|bus| device(*bus)).collect() }));
        before.nic = Some(Sheet::read(NicFacts {
            ports: (0..8).map(port).collect(),
            interfaces: vec![NetInterface {
                name: "eth0".to_owned(),
                operstate: "up".to_owned(),
                wanted: true,
                carrier: Some(true),
                speed_mbps: Some(25_000),
                carrier_down: Some(1),
                ..NetInterface::default()
            }],
            mlx5: None,
        }));
        before.driver = Some(Sheet::read(DriverFacts {
            modules: vec!["nvidia".to_owned(), "nvidia_peermem".to_owned()],
            version: Some("580.95.05".to_owned()),
            device_files: (0..8).collect(),
            control_file: true,
            ..DriverFacts::default()
        }));
        before.gres = Some(Sheet::read(GresFacts {
            gpus: Some(ConfiguredGpus {
                count: 8,
                from: "gres.conf".to_owned(),
                files: (0..8).collect(),
                nvidia: true,
                ..ConfiguredGpus::default()
            }),
        }));
        let facts = NodeFacts { at: Stamp::from_secs(1_000_300), ..before.clone() };
        Self {
            baseline: Some(learn(&before, Some(&nvml))),
            facts,
            before: Some(before),
            nvml_before: Some(nvml.clone()),
            nvml: Some(nvml),
            nvml_blind: None,
            expect: Expect::default(),
            spans: Vec::new(),
            last: None,
        }
    }

    /// What the check finds.
    pub(super) fn look(&self, check: &Check) -> Findings {
        let setting = CheckSettings::default().of(check);
        let input = CheckInput {
            now: self.facts.at,
            node: &NodeName::from("n1"),
            boot: &self.facts.boot,
            trigger: Trigger::HealthCheck,
            facts: &self.facts,
            before: self.before.as_ref(),
            nvml: self.nvml.as_ref(),
            nvml_blind: self.nvml_blind.as_deref(),
            nvml_before: self.nvml_before.as_ref(),
            expect: &self.expect,
            baseline: self.baseline.as_ref(),
            setting: &setting,
            last: self.last.as_ref(),
            has_case: self.last.is_some(),
            span: None,
            spans: &self.spans,
        };
        super::run::look(&input, check)
    }

    /// What the check says is bad.
    pub(super) fn bad(&self, check: &Check) -> Vec<String> {
        self.look(check)
            .bad
            .into_iter()
            .map(|finding| format!("{} | {}", finding.resource, finding.text))
            .collect()
    }

    pub(super) fn gpu(&mut self, index: usize) -> &mut GpuReading {
        &mut self.nvml.as_mut().unwrap().gpus[index]
    }

    pub(super) fn device(&mut self, index: usize) -> &mut PciDevice {
        &mut self.facts.pci.as_mut().unwrap().said.as_mut().unwrap().devices[index]
    }

    pub(super) fn port(&mut self, index: usize) -> &mut RdmaPort {
        &mut self.facts.nic.as_mut().unwrap().said.as_mut().unwrap().ports[index]
    }

    pub(super) fn driver(&mut self) -> &mut DriverFacts {
        self.facts.driver.as_mut().unwrap().said.as_mut().unwrap()
    }

    pub(super) fn gres(&mut self) -> &mut ConfiguredGpus {
        self.facts.gres.as_mut().unwrap().said.as_mut().unwrap().gpus.as_mut().unwrap()
    }
}

fn gpu(index: u32, bus: u8) -> GpuReading {
    GpuReading {
        index,
        uuid: Some(format!("GPU-{index}")),
        pci: Some(address(bus)),
        serial: Some(format!("165{index}")),
        name: Some("NVIDIA H100 80GB HBM3".to_owned()),
        minor: Some(index),
        ecc_uncorrected: Some(0),
        ecc_corrected: Some(5),
        remap_corrected: Some(0),
        remap_uncorrected: Some(1),
        remap_pending: Some(false),
        remap_failed: Some(false),
        recovery_action: Some("none".to_owned()),
        throttle: Some(vec!["gpu_idle".to_owned()]),
        temperature_c: Some(34),
        temperature_slowdown_c: Some(87),
        pcie_width: Some(16),
        pcie_width_max: Some(16),
        pcie_gen: Some(1),
        pcie_gen_max: Some(5),
        pcie_replays: Some(3),
        nvlinks: (0..18)
            .map(|link| NvLinkReading {
                link,
                active: true,
                replays: Some(0),
                recoveries: Some(0),
                crc: Some(0),
            })
            .collect(),
        mig: Some(false),
        persistence: Some(true),
        vbios: Some("96.00.89.00.01".to_owned()),
        inforom: Some("G520.0200.00.05".to_owned()),
        fabric_state: Some("completed".to_owned()),
        fabric_status: Some("success".to_owned()),
        memory_used: Some(4 << 20),
        memory_total: Some(80 << 30),
        ..GpuReading::default()
    }
}

fn device(bus: u8) -> PciDevice {
    PciDevice {
        address: address(bus),
        kind: PciKind::Gpu,
        driver: Some("nvidia".to_owned()),
        answers: Some(true),
        link: PcieLink { speed: Some(250), speed_max: Some(3_200), width: Some(16), width_max: Some(16) },
        port: Some(PciAddress { bus: bus - 1, device: 1, ..PciAddress::default() }),
        port_width_max: Some(16),
        aer: Some(AerCounts::default()),
        port_aer: Some(AerCounts::default()),
        ..PciDevice::default()
    }
}

fn port(number: u32) -> RdmaPort {
    let counters = ["link_downed", "symbol_error", "link_error_recovery"];
    RdmaPort {
        device: format!("mlx5_{number}"),
        port: 1,
        state: "active".to_owned(),
        phys_state: "linkup".to_owned(),
        rate_mbps: Some(400_000),
        link_layer: "infiniband".to_owned(),
        firmware: Some("28.39.1002".to_owned()),
        board: Some("MT_0000000838".to_owned()),
        counters: counters.iter().map(|name| ((*name).to_owned(), 1)).collect(),
        ..RdmaPort::default()
    }
}

/// A run on the node that has these GPUs.
pub(super) fn span(gpus: &[u32]) -> JobSpan {
    JobSpan {
        run: RunId {
            cluster: String::new(),
            job: 4711,
            array: None,
            het: None,
            restart: 0,
            start: Stamp::from_secs(1),
        },
        node: NodeName::from("n1"),
        boot: BootId::from("b1"),
        uid: 1000,
        user: String::new(),
        partition: String::new(),
        nodes: Vec::new(),
        gpus: gpus.to_vec(),
        ask: JobAsk::Default,
        end: None,
        exit: None,
        state: String::new(),
    }
}
