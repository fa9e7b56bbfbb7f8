//! What sysfs says of the node's network: InfiniBand and RoCE ports, network interfaces with hardware behind them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attribute::NicReading;
use crate::{PciAddress, Resource};

/// Ports and interfaces, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicFacts {
    /// Every port of every RDMA device that is no virtual function.
    pub ports: Vec<RdmaPort>,
    /// Every network interface with a device behind it.
    pub interfaces: Vec<NetInterface>,
    /// Version of `mlx5_core`, where the module tells one: that of NVIDIA's own package (OFED, DOCA); the kernel's has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mlx5: Option<String>,
}

impl NicFacts {
    /// The port of that device, by number.
    pub fn port(&self, device: &str, port: u32) -> Option<&RdmaPort> {
        self.ports.iter().find(|p| p.device == device && p.port == port)
    }

    /// The interface of that name.
    pub fn interface(&self, name: &str) -> Option<&NetInterface> {
        self.interfaces.iter().find(|i| i.name == name)
    }
}

/// One port of one RDMA device (`/sys/class/infiniband`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RdmaPort {
    /// `mlx5_0`.
    pub device: String,
    /// From 1.
    pub port: u32,
    /// Logical state, lower case: `active`, `down`, `init`, `armed`; empty: not known.
    pub state: String,
    /// Physical state, lower case: `linkup`, `polling`, `disabled`; empty: not known.
    pub phys_state: String,
    /// Rate, Mbit/s.
    pub rate_mbps: Option<u64>,
    /// `infiniband` or `ethernet`; empty: not known.
    pub link_layer: String,
    /// Firmware version of the adapter.
    pub firmware: Option<String>,
    /// Board (`board_id`): the same on adapters that should have the same firmware.
    pub board: Option<String>,
    /// The adapter's function on the PCI bus.
    pub pci: Option<PciAddress>,
    /// Error counters since the driver was loaded, by the kernel's name; see [`PORT_COUNTERS`].
    pub counters: BTreeMap<String, u64>,
    /// Reading a counter failed: it is not tried again in this boot, since some firmware answers each try with a line in the
    /// kernel's log.
    pub counters_refused: bool,
}

impl RdmaPort {
    /// Whether data can pass. A state this version does not know accuses nobody.
    pub fn is_up(&self) -> bool {
        !matches!(self.state.as_str(), "down" | "init" | "armed")
    }

    /// The port as a resource. Adapters with one port, which is most of them, are known by their name alone.
    pub fn resource(&self) -> Resource {
        match self.port {
            1 => Resource::Nic(self.device.clone()),
            number => Resource::Nic(format!("{}/{number}", self.device)),
        }
    }

    /// A counter's value.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// The port as a diagnosis takes it.
    pub fn reading(&self) -> NicReading {
        NicReading {
            name: self.device.clone(),
            port: self.port,
            state: self.state.clone(),
            link_downed: self.counter("link_downed"),
            symbol_errors: self.counter("symbol_error"),
            link_recovery: self.counter("link_error_recovery"),
        }
    }
}

/// The counters that are read of a port: those that mean something went wrong on the wire. Traffic is left out, and so is
/// what congestion does (`port_xmit_wait`, `np_cnp_sent`). Names and meaning: InfiniBand Architecture Specification,
/// PortCounters; the kernel's `Documentation/ABI/stable/sysfs-class-infiniband`; for `hw_counters`, NVIDIA's "mlx5
/// InfiniBand counters".
pub const PORT_COUNTERS: &[&str] = &[
    "link_downed",
    "link_error_recovery",
    "symbol_error",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
];

/// As [`PORT_COUNTERS`], below `hw_counters`.
pub const HW_COUNTERS: &[&str] = &["local_ack_timeout_err", "packet_seq_err", "rx_icrc_encapsulated"];

/// One network interface with hardware behind it (`/sys/class/net`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetInterface {
    /// `eth0`, `ib0`.
    pub name: String,
    /// `up`, `down`, `dormant`, `unknown` ...; empty: not known.
    pub operstate: String,
    /// An administrator wants it up (`IFF_UP`). One that nobody brought up is not down by fault.
    pub wanted: bool,
    /// A carrier is there; `None` while the interface is not brought up.
    pub carrier: Option<bool>,
    /// Speed, Mbit/s, where the driver tells.
    pub speed_mbps: Option<u64>,
    /// How often the carrier was lost since the interface appeared.
    pub carrier_down: Option<u64>,
    /// Bound driver.
    pub driver: Option<String>,
    /// The adapter's function on the PCI bus.
    pub pci: Option<PciAddress>,
}

impl NetInterface {
    /// Whether it is wanted up and is not.
    pub fn is_down(&self) -> bool {
        self.wanted
            && (self.carrier == Some(false) || matches!(self.operstate.as_str(), "down" | "lowerlayerdown"))
    }
}
