//! How long the largest bundle takes. Held to: 3 s and 200 MB on one core for 64 nodes, 512 ranks and 1 GB of output.
//!
//! `cargo bench -p triage-bundle --bench diagnose`. Needs 1 GB in the folder for temporary files. For the memory see
//! `examples/large-bundle.rs`.
mod large;

use criterion::{Criterion, criterion_group, criterion_main};

fn diagnose(c: &mut Criterion) {
    let Ok(folder) = tempfile::tempdir() else { return };
    if let Err(error) = large::write(folder.path()) {
        eprintln!("the bundle could not be written: {error}");
        return;
    }
    let catalog = triage_catalog::embedded();
    let mut group = c.benchmark_group("diagnose");
    group.sample_size(10);
    group.bench_function("64 nodes, 512 ranks, 1 GB", |b| {
        b.iter(|| {
            let report = triage_bundle::diagnose(folder.path(), &catalog);
            assert!(
                report.is_ok_and(|report| report.culprits.len() == 1 && report.culprits[0].node == "c40")
            );
        });
    });
    group.finish();
}

criterion_group!(benches, diagnose);
criterion_main!(benches);
