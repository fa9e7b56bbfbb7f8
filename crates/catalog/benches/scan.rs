//! What the catalogue costs: making it, deciding that nothing is interesting, and reading a log that is.
//! `cargo bench -p triage-catalog`.
use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use triage_catalog::{embedded, load};
use triage_core::catalog::Origin;

const XID: &[u8] =
    b"NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

/// Lines as they come all day on a node with containers; none holds an anchor.
fn clean_log(bytes: usize) -> Vec<u8> {
    let mut text = String::with_capacity(bytes + 256);
    let mut n: u64 = 0;
    while text.len() < bytes {
        n += 1;
        let line = match n % 8 {
            0 => format!("docker0: port {}(veth{n:07x}) entered blocking state", n % 31),
            1 => format!("device veth{n:07x} entered promiscuous mode"),
            2 => format!("IPv6: ADDRCONF(NETDEV_CHANGE): veth{n:07x}: link becomes ready"),
            3 => format!(
                "audit: type=1400 audit(1771293173.293:{n}): apparmor=\"DENIED\" operation=\"open\" profile=\"/usr/sbin/sssd\" name=\"/proc/{n}/cmdline\" comm=\"sssd_nss\""
            ),
            4 => format!("usb 1-14.1: new low-speed USB device number {} using xhci_hcd", n % 127),
            5 => format!("systemd[1]: Started Session {n} of User user{}.", n % 97),
            6 => format!(
                "perf: interrupt took too long ({n} > 3910), lowering kernel.perf_event_max_sample_rate to 51000"
            ),
            _ => format!("slurm.epilog ({n}): drop_caches: 3"),
        };
        let _ = writeln!(text, "[{:12.6}] {line}", n as f64 * 0.37);
    }
    text.into_bytes()
}

/// One line in twenty has a meaning.
fn mixed_log(bytes: usize) -> Vec<u8> {
    let mut log = Vec::with_capacity(bytes + 256);
    for (n, line) in clean_log(bytes).split(|b| *b == b'\n').enumerate() {
        log.extend_from_slice(line);
        log.push(b'\n');
        if n % 20 == 0 {
            log.extend_from_slice(XID);
            log.push(b'\n');
        }
    }
    log
}

fn start(c: &mut Criterion) {
    c.bench_function("make/no_site_files", |b| b.iter(|| load(None).map(|catalog| catalog.families().len())));
    let line = b"[   12.345678] usb 1-14.1: new low-speed USB device number 12 using xhci_hcd\n";
    c.bench_function("make_and_decide/clean_line", |b| {
        b.iter_batched(
            embedded,
            |catalog| black_box(catalog.candidates(Origin::Kernel, line).count()),
            BatchSize::SmallInput,
        );
    });
}

fn scan(c: &mut Criterion) {
    let catalog = embedded();
    let mut group = c.benchmark_group("scan");
    for (name, log) in [("clean", clean_log(64 << 20)), ("mixed", mixed_log(4 << 20))] {
        group.throughput(Throughput::Bytes(log.len() as u64));
        group.sample_size(10);
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut hits = 0;
                catalog.for_each_hit(Origin::Kernel, black_box(&log), |_| hits += 1);
                hits
            });
        });
    }
    group.finish();
}

fn lines(c: &mut Criterion) {
    let catalog = embedded();
    c.bench_function("line/xid", |b| b.iter(|| catalog.read(Origin::Kernel, black_box(XID))));
    let benign = b"usb 1-14.1: new low-speed USB device number 12 using xhci_hcd";
    c.bench_function("line/clean", |b| b.iter(|| catalog.read(Origin::Kernel, black_box(benign))));
}

criterion_group!(benches, start, scan, lines);
criterion_main!(benches);
