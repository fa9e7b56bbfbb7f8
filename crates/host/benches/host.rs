//! What a healthy prolog pays this crate for: configuration, environment, the kernel's log with nothing new in it.
//! `cargo bench -p triage-host`
use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use triage_core::BootId;
use triage_host::clock::SystemClock;
use triage_host::config::{Config, KernelLog as Settings, KernelLogSource};
use triage_host::kernel_log::{KernelLog, Limits};
use triage_host::proc::Root;
use triage_host::slurm::{HookEnv, hostlist, record};

const LIMITS: Limits = Limits { max_bytes: 8 << 20, until: None };

fn config(c: &mut Criterion) {
    let text = include_str!("../../../etc/triage.toml");
    c.bench_function("config/shipped", |b| {
        b.iter(|| Config::parse(black_box(text), Path::new("triage.toml")))
    });
}

fn environment(c: &mut Criterion) {
    let vars = [
        ("SLURMD_NODENAME", "n17"),
        ("SLURM_JOB_ID", "4711"),
        ("SLURM_JOB_NODELIST", "n[1-512]"),
        ("SLURM_JOB_GPUS", "0,1,2,3,4,5,6,7"),
    ];
    let vars: BTreeMap<String, String> = vars.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    c.bench_function("environment/512_nodes", |b| b.iter(|| HookEnv::from_map(black_box(&vars))));
}

fn hostlists(c: &mut Criterion) {
    c.bench_function("hostlist/expand_4096", |b| b.iter(|| hostlist::expand(black_box("gpu-[0001-4096]"))));
    let nodes = hostlist::expand("gpu-[0001-4096]").unwrap_or_default();
    c.bench_function("hostlist/fold_4096", |b| b.iter(|| hostlist::fold(black_box(&nodes))));
}

fn records(c: &mut Criterion) {
    let line = |n: u32| {
        format!(
            "NodeName=n{n} Arch=x86_64 CPUAlloc=5 OS=Linux 6.1 #1 SMP State=MIXED CfgTRES=cpu=64,gres/gpu=8 Comment=x \
             Extra={{\"slurm_triage\":{{\"v\":1}}}}\n"
        )
    };
    let answer: String = (0..1_000).map(line).collect();
    c.bench_function("record/1000_nodes", |b| b.iter(|| record::nodes(black_box(&answer)).len()));
}

fn kernel_log(c: &mut Criterion) {
    let mut group = c.benchmark_group("kernel_log");
    let boot = BootId::from("bench");
    let kmsg = KernelLog::new(&Settings::default(), Root::default(), boot.clone());
    if let Ok(first) = kmsg.read_new(None, LIMITS, &SystemClock) {
        group.throughput(Throughput::Elements(first.len() as u64 + first.dropped_user_lines));
        group.bench_function("kmsg/nothing_new", |b| {
            b.iter(|| kmsg.read_new(Some(&first.cursor), LIMITS, &SystemClock).map(|read| read.len()));
        });
        group.bench_function("kmsg/everything", |b| {
            b.iter(|| kmsg.read_new(None, LIMITS, &SystemClock).map(|read| read.len()));
        });
    }
    let path = std::env::temp_dir().join(format!("slurm-triage-bench-{}.log", std::process::id()));
    let line = "2026-03-01T10:00:00.000000+00:00 n1 kernel: mlx5_core 0000:1a:00.0: Port module event: module 0, cable ok\n";
    if fs::write(&path, line.repeat(80_000)).is_ok() {
        let settings = Settings { source: KernelLogSource::File, path: path.clone(), ..Settings::default() };
        let file = KernelLog::new(&settings, Root::default(), boot);
        group.throughput(Throughput::Bytes(line.len() as u64 * 80_000));
        group.bench_function("file/8_MB", |b| {
            b.iter(|| file.read_new(None, LIMITS, &SystemClock).map(|read| read.len()));
        });
        if let Ok(first) = file.read_new(None, LIMITS, &SystemClock) {
            group.throughput(Throughput::Elements(1));
            group.bench_function("file/nothing_new", |b| {
                b.iter(|| file.read_new(Some(&first.cursor), LIMITS, &SystemClock).map(|read| read.len()));
            });
        }
        let _ = fs::remove_file(&path);
    }
    group.finish();
}

criterion_group!(benches, config, environment, hostlists, records, kernel_log);
criterion_main!(benches);
