//! `scan`: any log, on any machine.
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{command, run};

const XID: &str =
    "[Sun Nov 29 10:00:00 2026] NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=x, GPU has fallen off the bus.\n";
const NOISE: &str =
    "[Sun Nov 29 10:00:01 2026] usb 1-14.1: new low-speed USB device number 7 using xhci_hcd\n";

struct Logs(tempfile::TempDir);

impl Logs {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn rows(args: &[&str]) -> Vec<serde_json::Value> {
    let all: Vec<&str> = ["scan", "--json"].iter().chain(args).copied().collect();
    let answer = run(&all).expect(0);
    answer.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_recognised_line_is_one_object_with_every_member() {
    let logs = Logs::new();
    let file = logs.file("kern.log", format!("{NOISE}{NOISE}{XID}"));
    let found = rows(&[&file]);
    assert_eq!(
        found,
        [serde_json::json!({
            "file": file, "line": 3, "time": "2026-11-29T10:00:00.000000Z", "code": "xid.79", "class": "hardware",
            "role": "root", "provenance": "trusted", "resource": "gpu:0000:61:00.0", "action": "reboot",
            "text": "NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=x, GPU has fallen off the bus.",
        })]
    );
}

#[test]
fn a_framework_that_writes_dates_in_brackets_has_no_kernel_log() {
    let logs = Logs::new();
    let log = "[2026-11-29 13:05:23,123] [INFO] [config.py:1001:print] DeepSpeedEngine configuration\n\
               [rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
    let found = rows(&[&logs.file("slurm-4711.out", log)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "cuda.oom");
}

#[test]
fn a_log_without_a_time_is_a_kernels_by_what_it_says() {
    let logs = Logs::new();
    let found =
        rows(&[&logs.file("pasted", "watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python3:48112]\n")]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "kernel.soft_lockup");
}

#[test]
fn compressed_logs_and_standard_input_give_the_same() {
    let logs = Logs::new();
    let text = format!("{NOISE}{XID}{XID}");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let files = [
        logs.file("plain", &text),
        logs.file("a.gz", gz.finish().unwrap()),
        logs.file("a.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
    ];
    for file in &files {
        let lines: Vec<u64> = rows(&[file]).iter().map(|row| row["line"].as_u64().unwrap()).collect();
        assert_eq!(lines, [2, 3], "{file}");
    }
    let mut child =
        command(&["scan", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(out.stdout).unwrap().lines().count(), 2);
}

#[test]
fn line_numbers_hold_across_pieces_and_behind_a_line_without_end() {
    let logs = Logs::new();
    let mut text = NOISE.repeat(100_000).into_bytes();
    text.extend(std::iter::repeat_n(b'x', 10_000_000));
    text.push(b'\n');
    text.extend_from_slice(b"\0\xff\xfe\n");
    text.extend_from_slice(XID.as_bytes());
    let file = logs.file("kern.log", text);
    let answer = run(&["scan", "--json", "--source", "kernel", &file]).expect(0);
    assert_eq!(answer.out.lines().count(), 1);
    assert!(answer.out.contains("\"line\":100003"), "{}", answer.out);
    assert!(answer.err.contains("100001: longer than"), "what was not looked at is said: {}", answer.err);
}

#[test]
fn what_a_process_wrote_into_the_kernels_log_is_not_the_kernels() {
    let logs = Logs::new();
    let forged = "Nov 29 10:00:00 n1 python[7]: NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=x, GPU has fallen off the bus.\n";
    let real = "Nov 29 10:00:00 n1 kernel: NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=x, GPU has fallen off the bus.\n";
    let file = logs.file("syslog", format!("{forged}{real}"));
    let lines: Vec<u64> = rows(&[&file]).iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2]);
}

#[test]
fn a_jobs_word_is_never_trusted() {
    let logs = Logs::new();
    let file = logs
        .file("job.out", "step 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n");
    let found = rows(&["--source", "job", &file]);
    assert_eq!(
        (found[0]["provenance"].as_str(), found[0]["class"].as_str()),
        (Some("user"), Some("application"))
    );
}

#[test]
fn terminal_escapes_in_a_log_are_shown_and_not_obeyed() {
    let logs = Logs::new();
    let file = logs.file("kern.log", XID.replace("name=x", "name=\u{1b}[2J"));
    let out = run(&["scan", &file]).expect(0).out;
    assert!(!out.contains('\u{1b}') && out.contains("xid.79"), "{out}");
}

#[test]
fn one_file_that_cannot_be_read_does_not_hide_the_others() {
    let logs = Logs::new();
    let file = logs.file("kern.log", XID);
    let broken = logs.file("broken.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
    let answer = run(&["scan", "--json", "/nonexistent.log", &broken, &file]).expect(3);
    assert_eq!(answer.out.lines().count(), 1);
    assert!(answer.err.contains("/nonexistent.log") && answer.err.contains("broken.gz"), "{}", answer.err);
}

#[test]
fn without_a_file_it_says_how_it_is_used() {
    run(&["scan"]).expect(2);
    run(&["scan", "--source", "syslog", "x"]).expect(2);
}
