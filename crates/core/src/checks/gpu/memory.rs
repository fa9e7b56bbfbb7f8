//! A GPU's memory wearing out: what is no fault yet.
use super::super::{Check, CheckInput, Findings, Threshold};
use super::{GPU, before, gpus, growth, rate, resource};

/// Corrected errors cost nothing; many of them announce the other kind. The rate `gpu_corrected`, which counts over a day,
/// makes the cases; this shows the hour.
pub(in super::super) const ECC_CORRECTED: Check = Check {
    name: "gpu_ecc_corrected",
    finds: "corrected ECC errors at a high rate",
    threshold: Some(Threshold {
        value: 10_000.0,
        unit: "errors an hour, at least",
        source: "ours; what other tools allow in total lies between ten thousand and fifty million",
    }),
    listed: true,
    good_for_s: 3_600,
    evaluate: corrected,
    ..GPU
};

fn corrected(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings) {
        let last = before(input, gpu);
        let Some(grown) = growth(gpu.ecc_corrected, last.and_then(|last| last.ecc_corrected)) else {
            continue;
        };
        let Some(hourly) = rate(input, grown, 3_600.0) else { continue };
        if hourly >= input.setting.threshold {
            findings.likely(
                resource(gpu),
                format!(
                    "GPU {}: {grown} corrected ECC errors since the last sweep, {hourly:.0} an hour",
                    gpu.index
                ),
            );
        }
    }
}

/// A board has spare rows for 512 remaps in all, and few in each bank (NVIDIA, "GPU Memory Error Management"): that rows are
/// used up faster than in a life is worth knowing.
pub(in super::super) const REMAP_GROWTH: Check = Check {
    name: "gpu_remap_growth",
    finds: "memory rows remapped since the baseline was learned",
    threshold: Some(Threshold {
        value: 8.0,
        unit: "rows since the baseline, at least",
        source: "ours; one bank has spare rows for eight remaps",
    }),
    evaluate: remapped,
    ..GPU
};

/// Before Ampere a board retires pages instead of remapping rows, for 64 of which its InfoROM has room.
pub(in super::super) const RETIRED_COUNT: Check = Check {
    name: "gpu_retired_count",
    finds: "memory pages that were retired over the board's life",
    threshold: Some(Threshold {
        value: 60.0,
        unit: "pages, at least",
        source: "ours; the board has room for 64 (NVIDIA, \"GPU Memory Error Management\")",
    }),
    evaluate: retired,
    ..GPU
};

fn retired(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings) {
        let Some(pages) = gpu.retired_pages else { continue };
        if f64::from(pages) >= input.setting.threshold {
            findings.certain(resource(gpu), format!("GPU {}: {pages} memory pages are retired", gpu.index));
        }
    }
}

fn remapped(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(baseline) = input.baseline else {
        findings.remark("no baseline to compare with");
        return;
    };
    for gpu in gpus(input, findings) {
        let rows = gpu.remap_corrected.zip(gpu.remap_uncorrected).map(|(a, b)| a.saturating_add(b));
        let then = gpu
            .serial
            .as_deref()
            .and_then(|serial| baseline.by_serial(serial))
            .and_then(|then| then.remapped);
        let Some((rows, then)) = rows.zip(then) else { continue };
        let grown = rows.saturating_sub(then);
        if f64::from(grown) >= input.setting.threshold {
            findings.likely(
                resource(gpu),
                format!(
                    "GPU {}: {grown} rows remapped since the baseline ({then} then, {rows} now)",
                    gpu.index
                ),
            );
        }
    }
}
