//! Healthy training output, as many frameworks write it, with everything that looks like trouble and is none. A job that
//! completed gets no verdict, and nothing of it is held against the job.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
mod support;

use support::Folder;

/// A small generator of numbers, so that every run of the test sees the same text.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// One line of progress in the style of each framework.
fn progress(dice: &mut Dice, style: usize, step: u64) -> String {
    let loss = 2.0 + dice.roll(1000) as f64 / 1000.0;
    match style {
        0 => format!(
            " [2026-05-04 12:01:02] iteration {step:8}/  500000 | consumed samples: {:12} | elapsed time per iteration (ms): 812.4 | learning rate: 1.5E-04 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 0.312 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
            step * 512
        ),
        1 => format!(
            "[NeMo I 2026-05-04 12:01:02 train:88] global_step={step}, train_loss={loss:.3}, timeout=1800, error_rate=0.1\n"
        ),
        2 => format!("{{'loss': {loss:.4}, 'grad_norm': 0.71, 'learning_rate': 2e-05, 'epoch': 0.{step}}}\n"),
        3 => format!(
            "\rEpoch 0:  {:2}%|####      | {step}/1000 [00:10<00:20,  5.20it/s, v_num=0, train_loss={loss:.3}]",
            step % 100
        ),
        4 => format!(
            "[2026-05-04 12:01:02,123] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[1e-05], mom=[[0.9, 0.95]], loss={loss:.4}, overflow=False\n"
        ),
        5 => format!(
            "I0504 12:01:02.123456 139872 metric_logger.py:181] completed step: {step}, seconds: 1.204, TFLOP/s/device: 412.1, Tokens/s/device: 9512.3, total_weights: 65536, loss: {loss:.3}\n"
        ),
        _ => format!(
            "[rank0]:[titan] 2026-05-04 12:01:02,123 - root - INFO - \x1b[31mstep: {step:2}  \x1b[32mloss: {loss:7.4}  \x1b[36mmemory: 61.24GiB(77.33%)\x1b[39m\n"
        ),
    }
}

/// Styles that [`progress`] knows.
const STYLES: usize = 7;

/// Lines that look like trouble.
const CHATTER: &[&str] = &[
    "/env/lib/python3.11/site-packages/torch/cuda/__init__.py:61: FutureWarning: The pynvml package is deprecated.",
    "wandb: Network error (ReadTimeout), entering retry loop.",
    "[eval] nan_to_num applied to 0 of 512 logits tensors",
    "data loader: 3 corrupted samples skipped in shard 0117 (bad utf-8)",
    "WARNING:root:gradient overflow, skipping step, reducing loss scale to 32768",
    "[W socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use), trying another address family",
    "error: XDG_RUNTIME_DIR not set in the environment.",
    "fatal: not a git repository (or any parent up to mount point /)",
    "libibverbs: Warning: couldn't load driver 'libhfi1verbs-rdmav34.so': libhfi1verbs-rdmav34.so: cannot open shared object file: No such file or directory",
    "c1:7000:7100 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so), using internal implementation",
    "c1:7000:7100 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
    "c1:7000:7100 [0] NCCL INFO comm 0x55d5e29c770b rank 0 nranks 8 cudaDev 0 busId 1b000 commId 0xdf85f989 - Init COMPLETE",
    "INFO: retrying shard 12 after HTTP 503 (attempt 1/5)",
    "no errors found in 8812 documents; failed=0 aborted=0 timeout=0",
    "checkpoint saved: exit criteria not met, continuing",
    "loading model.safetensors: no such key 'lm_head.bias', ignored",
    "gpu health: watching for Xid errors every 60 s, none so far (ecc=0, timeout=30)",
    "error_rate=0.1 drop_prob=0.0 max_failures=3 nccl_timeout=1800",
    "[INFO] resubmit hook installed: on SIGTERM or TIMEOUT the last checkpoint is kept",
    "WARNING: could not import apex, using native layer norm (no error)",
    "Exception ignored in: <function _releaseLock at 0x7f0000001000>",
    "slurm: job step uses cgroup v2; memory limit 512G, oom_score_adj 0",
];

fn caught() -> &'static str {
    "Traceback (most recent call last):\n  File \"/src/data.py\", line 41, in fetch\n    return self.read(path)\n  File \"/src/data.py\", line 12, in read\n    raise OSError(5, 'Input/output error')\nOSError: [Errno 5] Input/output error: '/data/a'\n"
}

fn training(style: usize, steps: u64) -> String {
    let mut dice = Dice(style as u64 + 1);
    let mut text = String::new();
    for step in 1..=steps {
        text.push_str(&progress(&mut dice, style, step));
        if dice.roll(12) == 0 {
            text.push('\n');
            text.push_str(CHATTER[usize::try_from(dice.roll(CHATTER.len() as u64)).unwrap()]);
            text.push('\n');
        }
        if dice.roll(150) == 0 && step + 30 < steps {
            text.push('\n');
            text.push_str(caught());
        }
    }
    text
}

#[test]
fn a_healthy_job_that_completed_gets_no_verdict() {
    for style in 0..STYLES {
        let mut folder = Folder::new(2);
        for task in 0..8 {
            folder.exits(task, 1190.0, 0);
        }
        let report = folder.state("COMPLETED").output(&training(style, 2000)).diagnose();
        assert_eq!(report.class, "none", "style {style}");
        assert!(report.culprits.is_empty() && report.drain.is_empty() && report.evidence.is_empty());
        assert_eq!(report.job, "none");
    }
}

/// The same output under a job that died of something that left no word: nothing in it may be taken for the cause.
#[test]
fn nothing_a_healthy_job_prints_explains_its_end() {
    for style in 0..STYLES {
        let mut folder = Folder::new(2);
        folder.output(&training(style, 2000)).signalled(3, 1100.0, 9).all_signalled(1103.0, 15);
        let report = folder.diagnose();
        assert_eq!(report.class, "unknown", "style {style}: {report:?}");
        assert!(report.culprits.is_empty() && report.drain.is_empty());
    }
}
