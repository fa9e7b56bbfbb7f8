//! What somebody set and did not set back: a lower power limit, held clocks. The GPU is healthy and slow.
use super::super::{Check, CheckInput, Findings};
use super::{GPU, gpus, resource};
use crate::CauseClass;
use crate::reading::GpuReading;

/// A job that may do so, or a person who looked for something, leaves them behind. A cap for heat or power shows as
/// `gpu_throttle`.
pub(in super::super) const LIMITS: Check = Check {
    name: "gpu_limits",
    finds: "a power limit below that of the baseline or of the node's other GPUs, or clocks held down by a setting",
    class: CauseClass::System,
    bad_for_s: 300,
    evaluate,
    ..GPU
};

fn evaluate(input: &CheckInput<'_>, findings: &mut Findings) {
    let all = gpus(input, findings);
    for gpu in &all {
        power(input, &all, gpu, findings);
        // NVML sets the bit while the setting, and nothing stronger, holds the clocks.
        let set = gpu.throttle.iter().flatten().any(|reason| reason == "applications_clocks");
        if set {
            findings.likely(
                resource(gpu),
                format!(
                    "GPU {}: clocks are held down by a setting (nvidia-smi -rac and -rgc undo it)",
                    gpu.index
                ),
            );
        }
    }
}

fn power(input: &CheckInput<'_>, all: &[&GpuReading], gpu: &GpuReading, findings: &mut Findings) {
    let Some(now) = gpu.power_limit_mw else { return };
    let learned = gpu.serial.as_deref().and_then(|serial| input.baseline?.by_serial(serial)?.power_limit_mw);
    let (wanted, source) = match learned {
        Some(learned) => (Some(learned), "when the baseline was learned"),
        None => (most_others(all, gpu), "on most others"),
    };
    if let Some(wanted) = wanted.filter(|wanted| now < *wanted) {
        let text = format!("GPU {}: power limit {} W, {} W {source}", gpu.index, now / 1_000, wanted / 1_000);
        findings.likely(resource(gpu), text);
    }
}

/// The limit that more than half of the node's GPUs of the same model have.
fn most_others(all: &[&GpuReading], gpu: &GpuReading) -> Option<u32> {
    let alike: Vec<u32> =
        all.iter().filter(|other| other.name == gpu.name).filter_map(|other| other.power_limit_mw).collect();
    let has_most = |limit: &&u32| alike.iter().filter(|other| other == limit).count() * 2 > alike.len();
    alike.iter().find(has_most).copied()
}

#[cfg(test)]
mod tests {
    use super::LIMITS;
    use crate::baseline::learn;
    use crate::checks::scene::Scene;

    fn scene() -> Scene {
        let mut scene = Scene::healthy();
        for index in 0..8 {
            scene.gpu(index).power_limit_mw = Some(700_000);
        }
        scene
    }

    #[test]
    fn a_lower_power_limit_than_the_others_have_or_than_it_had_is_told() {
        let mut scene = scene();
        assert!(scene.bad(&LIMITS).is_empty());
        scene.gpu(3).power_limit_mw = Some(500_000);
        let told = "GPU 3: power limit 500 W, 700 W on most others";
        assert!(scene.bad(&LIMITS)[0].ends_with(told), "{:?}", scene.bad(&LIMITS));
        scene.baseline = Some(learn(&scene.facts, scene.nvml.as_ref()));
        assert!(scene.bad(&LIMITS).is_empty(), "the site wants it so");
        for index in 0..8 {
            scene.gpu(index).power_limit_mw = Some(400_000);
        }
        let bad = scene.bad(&LIMITS);
        assert_eq!(bad.len(), 8);
        assert!(bad[3].ends_with("GPU 3: power limit 400 W, 500 W when the baseline was learned"), "{bad:?}");
        scene.gpu(3).power_limit_mw = Some(700_000);
        assert_eq!(scene.bad(&LIMITS).len(), 7, "more than before is no fault");
    }

    #[test]
    fn clocks_that_somebody_held_down_are_told_and_an_idle_gpu_is_not() {
        let mut scene = scene();
        scene.gpu(5).throttle = Some(vec!["applications_clocks".to_owned()]);
        assert!(scene.bad(&LIMITS)[0].contains("GPU 5: clocks are held down by a setting"));
        scene.gpu(5).throttle = Some(vec!["gpu_idle".to_owned(), "sw_power_cap".to_owned()]);
        assert!(scene.bad(&LIMITS).is_empty());
    }

    #[test]
    fn two_halves_of_a_node_accuse_nobody() {
        let mut scene = scene();
        for index in 0..4 {
            scene.gpu(index).power_limit_mw = Some(500_000);
        }
        assert!(scene.bad(&LIMITS).is_empty());
    }
}
