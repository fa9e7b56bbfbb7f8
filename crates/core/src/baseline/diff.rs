//! What differs between two baselines, in words.
use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::{BaseDisk, BaseGpu, Baseline};
use crate::facts::host::Firmware;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs: `gpu 0000:9d:00.0 vbios`, `mounts /scratch`.
    pub what: String,
    /// What it was; `None`: it was not there.
    pub was: Option<String>,
    /// What it is; `None`: it is not there.
    pub now: Option<String>,
}

/// Everything that differs, in the order a person would look: GPUs, driver, network, host.
pub fn diff(was: &Baseline, now: &Baseline) -> Vec<Difference> {
    let mut all = Vec::new();
    let slots = |baseline: &Baseline| -> BTreeMap<String, BaseGpu> {
        let place = |(index, gpu): (usize, &BaseGpu)| {
            (gpu.pci.map_or_else(|| format!("{index}"), |address| address.to_string()), gpu.clone())
        };
        baseline.gpus.iter().enumerate().map(place).collect()
    };
    pairs(&slots(was), &slots(now), |slot, was, now| gpu(&mut all, slot, was, now));
    value(&mut all, "driver", was.driver.as_ref(), now.driver.as_ref());
    nics(&mut all, was, now);
    sets(&mut all, "module", &was.modules, &now.modules);
    value(&mut all, "memory KiB", was.memory_kib.as_ref(), now.memory_kib.as_ref());
    value(&mut all, "swap KiB", was.swap_kib.as_ref(), now.swap_kib.as_ref());
    firmware(&mut all, was, now);
    disks(&mut all, was, now);
    value(&mut all, "mlx5_core", was.mlx5.as_ref(), now.mlx5.as_ref());
    isolation(&mut all, was, now);
    sets(&mut all, "mount", &was.mounts, &now.mounts);
    sets(&mut all, "service", &was.services, &now.services);
    all
}

fn gpu(all: &mut Vec<Difference>, slot: &str, was: Option<&BaseGpu>, now: Option<&BaseGpu>) {
    let what = |part: &str| format!("gpu {slot} {part}");
    let board = |gpu: &BaseGpu| gpu.serial.clone().or_else(|| gpu.uuid.clone()).unwrap_or_default();
    value(all, &what("board"), was.map(board).as_ref(), now.map(board).as_ref());
    // What a new or a missing board has is no further difference.
    let (Some(was), Some(now)) = (was, now) else { return };
    value(all, &what("model"), was.name.as_ref(), now.name.as_ref());
    value(all, &what("vbios"), was.vbios.as_ref(), now.vbios.as_ref());
    value(all, &what("inforom"), was.inforom.as_ref(), now.inforom.as_ref());
    value(all, &what("pcie generation"), was.gen_max.as_ref(), now.gen_max.as_ref());
    value(all, &what("nvlinks"), was.nvlinks.as_ref(), now.nvlinks.as_ref());
    value(all, &what("remapped rows"), was.remapped.as_ref(), now.remapped.as_ref());
    value(all, &what("power limit mW"), was.power_limit_mw.as_ref(), now.power_limit_mw.as_ref());
}

fn firmware(all: &mut Vec<Difference>, was: &Baseline, now: &Baseline) {
    let none = Firmware::default();
    let (was, now) = (was.firmware.as_ref().unwrap_or(&none), now.firmware.as_ref().unwrap_or(&none));
    for ((part, was), (_, now)) in was.parts().into_iter().zip(now.parts()) {
        value(all, part, was.as_ref(), now.as_ref());
    }
}

fn disks(all: &mut Vec<Difference>, was: &Baseline, now: &Baseline) {
    let by_serial = |baseline: &Baseline| -> BTreeMap<String, BaseDisk> {
        baseline.disks.iter().map(|disk| (disk.serial.clone(), disk.clone())).collect()
    };
    pairs(&by_serial(was), &by_serial(now), |serial, was, now| {
        let model = |disk: &BaseDisk| disk.model.clone().unwrap_or_default();
        value(all, &format!("disk {serial}"), was.map(model).as_ref(), now.map(model).as_ref());
        if let (Some(was), Some(now)) = (was, now) {
            value(all, &format!("disk {serial} firmware"), was.firmware.as_ref(), now.firmware.as_ref());
        }
    });
}

fn isolation(all: &mut Vec<Difference>, was: &Baseline, now: &Baseline) {
    let iommu =
        |baseline: &Baseline| baseline.isolation.map(|isolation| if isolation.iommu { "on" } else { "off" });
    value(all, "IOMMU", iommu(was).as_ref(), iommu(now).as_ref());
    let redirecting = |baseline: &Baseline| baseline.isolation.map(|isolation| isolation.redirecting);
    value(all, "redirecting bridges", redirecting(was).as_ref(), redirecting(now).as_ref());
}

fn nics(all: &mut Vec<Difference>, was: &Baseline, now: &Baseline) {
    let ports = |baseline: &Baseline| -> BTreeMap<String, [Option<String>; 3]> {
        let port = baseline.ports.iter().map(|port| {
            let state = if port.up { "up" } else { "down" };
            let rate = port.rate_mbps.map(|rate| format!("{rate} Mb/s"));
            (
                format!("nic {}/{}", port.device, port.port),
                [Some(state.to_owned()), rate, port.firmware.clone()],
            )
        });
        let interface = baseline.interfaces.iter().map(|interface| {
            let state = if interface.up { "up" } else { "down" };
            let rate = interface.rate_mbps.map(|rate| format!("{rate} Mb/s"));
            (format!("nic {}", interface.name), [Some(state.to_owned()), rate, None])
        });
        port.chain(interface).collect()
    };
    pairs(&ports(was), &ports(now), |name, was, now| {
        for (at, part) in ["state", "rate", "firmware"].iter().enumerate() {
            let of = |values: Option<&[Option<String>; 3]>| values.and_then(|values| values.get(at)?.clone());
            value(all, &format!("{name} {part}"), of(was).as_ref(), of(now).as_ref());
        }
    });
    let widths = |baseline: &Baseline| -> BTreeMap<String, u32> {
        baseline.widths.iter().map(|width| (width.pci.to_string(), width.lanes)).collect()
    };
    pairs(&widths(was), &widths(now), |name, was, now| value(all, &format!("pci {name} lanes"), was, now));
}

/// Walks both maps by name.
fn pairs<T>(
    was: &BTreeMap<String, T>,
    now: &BTreeMap<String, T>,
    mut each: impl FnMut(&str, Option<&T>, Option<&T>),
) {
    for (name, value) in was {
        each(name, Some(value), now.get(name));
    }
    for (name, value) in now.iter().filter(|(name, _)| !was.contains_key(*name)) {
        each(name, None, Some(value));
    }
}

fn value<T: PartialEq + Display>(all: &mut Vec<Difference>, what: &str, was: Option<&T>, now: Option<&T>) {
    if was != now {
        all.push(Difference {
            what: what.to_owned(),
            was: was.map(ToString::to_string),
            now: now.map(ToString::to_string),
        });
    }
}

fn sets(all: &mut Vec<Difference>, what: &str, was: &[String], now: &[String]) {
    let there = || "there".to_owned();
    let gone = was.iter().filter(|name| !now.contains(name));
    all.extend(gone.map(|name| Difference { what: format!("{what} {name}"), was: Some(there()), now: None }));
    let new = now.iter().filter(|name| !was.contains(name));
    all.extend(new.map(|name| Difference { what: format!("{what} {name}"), was: None, now: Some(there()) }));
}
