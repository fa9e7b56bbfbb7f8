//! Records as lines, and lines that are none.
use proptest::prelude::*;
use triage_wire::{DecodeError, End, MAX_LINE, Step, TaskRecord, What, decode_all, decode_line, encode};

fn record() -> TaskRecord {
    TaskRecord {
        at_us: 1_772_359_205_123_456,
        what: What::End(End::Signal(9, true)),
        cluster: "c".into(),
        node: "n1".into(),
        job: 4711,
        array: Some((4700, 3)),
        restart: 1,
        step: Step::Batch,
        rank: 3,
        local: 3,
        pid: 99,
        uid: Some(1000),
        triage: "off".into(),
        gpus: vec!["0".into(), "GPU-\"x\"".into()],
    }
}

#[test]
fn the_line_is_what_the_documentation_says() {
    assert_eq!(
        encode(&record()).trim_end().rsplit_once(",\"crc\"").unwrap().0,
        r#"{"v":1,"at":"2026-03-01T10:00:05.123456Z","what":"task_exit","cluster":"c","node":"n1","job":4711,"array_job":4700,"array_task":3,"restart":1,"step":"batch","rank":3,"local":3,"pid":99,"uid":1000,"triage":"off","gpus":["0","GPU-\"x\""],"signal":9,"core":true"#
    );
}

#[test]
fn a_line_of_a_bundle_needs_neither_job_nor_checksum() {
    let line = br#"{"v":1,"at":"2026-03-01T10:00:05.123Z","what":"task_exit","step":0,"rank":3,"local":3,"pid":4711,"exit":1,"new":[1]}"#;
    let record = decode_line(line).unwrap();
    assert_eq!((record.rank, record.what), (3, What::End(End::Exit(1))));
}

#[test]
fn one_altered_byte_is_found() {
    let line = encode(&record());
    let altered = line.replace("\"rank\":3", "\"rank\":4");
    assert_eq!(decode_line(altered.as_bytes()), Err(DecodeError::Checksum));
}

#[test]
fn a_torn_tail_and_garbage_spoil_no_other_line() {
    let line = encode(&record());
    let mut file = line.clone().into_bytes();
    file.extend_from_slice(b"\0\xff garbage\n{}\n[]\nnull\n");
    file.extend_from_slice(line.as_bytes());
    file.extend_from_slice(&line.as_bytes()[..line.len() / 2]);
    let (records, bad) = decode_all(&file);
    assert_eq!((records.len(), bad.len()), (2, 5));
    assert_eq!(bad[0].line, 2);
}

#[test]
fn a_version_from_the_future_is_said() {
    let line = br#"{"v":2,"at":"2026-03-01T10:00:05Z","what":"task_start"}"#;
    assert_eq!(decode_line(line), Err(DecodeError::Version(2)));
}

#[test]
fn names_made_to_break_the_line_do_not() {
    let mut record = record();
    record.node = "a\"}\n{\"b\u{0}\u{1f600}".repeat(1_000);
    record.gpus = vec!["\u{1f600}".repeat(4_000); 64];
    let line = encode(&record);
    assert!(line.is_ascii() && line.matches('\n').count() == 1 && line.len() <= MAX_LINE);
    assert!(decode_line(line.as_bytes()).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode_all(&bytes);
    }

    #[test]
    fn a_record_survives_its_line(
        at_us in 0_i64..250_000_000_000_000_000, job in any::<u32>(), rank in any::<u32>(), raw in 0_i32..65_536,
        step in any::<u32>(), name in "[a-zA-Z0-9._-]{0,40}", start in any::<bool>(),
    ) {
        let what = if start { What::Start } else { What::End(End::from_wait(raw)) };
        let record = TaskRecord { at_us, job, rank, what, step: Step::from_slurm(step), node: name, ..TaskRecord::default() };
        prop_assert_eq!(decode_line(encode(&record).as_bytes()), Ok(record));
    }
}
