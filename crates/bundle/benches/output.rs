//! How fast a job's output is read. Held to: healthy output at 1 GB/s on one core, a flood in bounded time.
//!
//! `cargo bench -p triage-bundle`
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use triage_core::joblog::{Calendar, Hints, Scanner};
use triage_core::{Stamp, catalog::Catalog};

/// Bytes looked at in one round.
const SIZE: usize = 16 << 20;

fn megatron() -> Vec<u8> {
    let mut text = Vec::with_capacity(SIZE + 512);
    let mut step = 0_u64;
    while text.len() < SIZE {
        step += 1;
        text.extend_from_slice(
            format!(
                " [2026-05-04 12:{:02}:{:02}] iteration {step:8}/  500000 | consumed samples: {:12} | elapsed time per iteration (ms): 812.{} | learning rate: 1.5E-04 | global batch size:   512 | lm loss: 2.{step:06}E+00 | loss scale: 1.0 | grad norm: 0.312 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
                step / 60 % 60,
                step % 60,
                step * 512,
                step % 10
            )
            .as_bytes(),
        );
        if step.is_multiple_of(16) {
            text.extend_from_slice(
                b"c1:7000:7100 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n",
            );
        }
    }
    text
}

fn flood() -> Vec<u8> {
    let line = b"c2:7004:7104 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.1<47110> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n";
    line.repeat(SIZE / line.len())
}

fn scan(catalog: &Catalog, text: &[u8]) -> usize {
    let start = Stamp::from_secs(1_777_896_000);
    let hints = Hints { calendar: Calendar { start, end: start.plus_secs(86_400) }, ..Hints::default() };
    let mut scanner = Scanner::new(catalog, hints);
    scanner.begin("job.out");
    for (index, piece) in text.chunks(256 << 10).enumerate() {
        scanner.feed(piece, (index * (256 << 10)) as u64);
    }
    scanner.finish().len()
}

fn output(c: &mut Criterion) {
    let catalog = triage_catalog::embedded();
    let mut group = c.benchmark_group("output");
    group.throughput(Throughput::Bytes(SIZE as u64)).sample_size(20);
    let healthy = megatron();
    group.bench_function("healthy", |b| b.iter(|| scan(&catalog, black_box(&healthy))));
    let flood = flood();
    group.bench_function("flood", |b| b.iter(|| scan(&catalog, black_box(&flood))));
    group.finish();
}

criterion_group!(benches, output);
criterion_main!(benches);
