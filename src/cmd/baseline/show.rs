//! A baseline for people.
use triage_core::baseline::{BaseGpu, Baseline, Learned};

use crate::render::{self, Page, Table};
use crate::site::Site;

/// The whole of it.
pub(super) fn page(site: &Site, learned: &Learned) -> Page {
    let baseline = &learned.baseline;
    let by = if learned.by.is_empty() { "the health check" } else { &learned.by };
    let mut page = Page::default();
    let at = render::seconds(baseline.at);
    page.line(0, format_args!("{}: as of {at}, learned by {by}: {}", site.node, learned.why));
    gpus(&mut page, baseline);
    network(&mut page, baseline);
    page.heading("Host");
    if let Some(kib) = baseline.memory_kib {
        page.line(1, format_args!("memory {} MiB", kib / 1024));
    }
    for (what, names) in
        [("mounts", &baseline.mounts), ("services", &baseline.services), ("modules", &baseline.modules)]
    {
        if !names.is_empty() {
            page.line(1, format_args!("{what}: {}", names.join(" ")));
        }
    }
    page
}

fn gpus(page: &mut Page, baseline: &Baseline) {
    if baseline.gpus.is_empty() {
        return;
    }
    page.heading("GPUs");
    if let Some(driver) = &baseline.driver {
        page.line(1, format_args!("driver {driver}"));
    }
    let mut table = Table::new(&["PCI", "SERIAL", "VBIOS", "LANES", "NVLINKS", "MODEL", "UUID"]);
    for gpu in &baseline.gpus {
        table.row(row(baseline, gpu));
    }
    page.table(1, &table);
}

fn row(baseline: &Baseline, gpu: &BaseGpu) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let lanes = gpu.pci.and_then(|address| baseline.width_at(address)).map(|lanes| lanes.to_string());
    vec![
        gpu.pci.map(|address| address.to_string()).unwrap_or_default(),
        text(&gpu.serial),
        text(&gpu.vbios),
        lanes.unwrap_or_default(),
        gpu.nvlinks.map(|links| links.to_string()).unwrap_or_default(),
        text(&gpu.name),
        text(&gpu.uuid),
    ]
}

fn network(page: &mut Page, baseline: &Baseline) {
    if baseline.ports.is_empty() && baseline.interfaces.is_empty() {
        return;
    }
    page.heading("Network");
    let mut table = Table::new(&["NAME", "STATE", "MBIT/S", "FIRMWARE"]);
    let state = |up: bool| if up { "up" } else { "down" }.to_owned();
    let rate = |rate: Option<u64>| rate.map(|rate| rate.to_string()).unwrap_or_default();
    for port in &baseline.ports {
        let name = format!("{}/{}", port.device, port.port);
        table.row(vec![
            name,
            state(port.up),
            rate(port.rate_mbps),
            port.firmware.clone().unwrap_or_default(),
        ]);
    }
    for interface in &baseline.interfaces {
        table.row(vec![
            interface.name.clone(),
            state(interface.up),
            rate(interface.rate_mbps),
            String::new(),
        ]);
    }
    page.table(1, &table);
}
