//! Records as lines, and lines that are none.
use proptest::prelude::*;
use triage_wire::{
    DecodeError, End, MAX_LINE, Step, TaskRecord, What, decode_all, decode_line, encode, spool_file_name,
};

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
fn a_record_behind_a_torn_one_is_read() {
    let line = encode(&record());
    for cut in 1..line.len() - 1 {
        let (records, bad) = decode_all(format!("{}{line}", &line[..cut]).as_bytes());
        assert_eq!((records.as_slice(), bad.len()), ([record()].as_slice(), 1), "cut at {cut}");
    }
}

#[test]
fn a_line_torn_anywhere_is_no_record() {
    let line = encode(&record());
    for cut in 1..line.len() - 1 {
        assert!(decode_line(&line.as_bytes()[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_user_cannot_write_a_record_into_a_name() {
    let inner = encode(&TaskRecord { job: 1, ..record() });
    let outer = TaskRecord { node: inner.clone(), gpus: vec![inner], ..record() };
    let torn = encode(&outer).replace("\"rank\":3", "\"rank\":4");
    assert_eq!(decode_all(torn.as_bytes()).0, []);
}

#[test]
fn a_line_that_a_tool_wrote_anew_cannot_be_vouched_for() {
    let line = encode(&record());
    let spaced = line.replace(",\"crc\":", ", \"crc\": ");
    assert_eq!(decode_line(spaced.as_bytes()), Err(DecodeError::Checksum));
    let moved = line.replace("\"}", "\",\"more\":1}");
    assert_eq!(decode_line(moved.as_bytes()), Err(DecodeError::Checksum));
}

#[test]
fn an_end_is_one_thing() {
    let line = |end: &str| format!(r#"{{"v":1,"at":"2026-03-01T10:00:05Z","what":"task_exit"{end}}}"#);
    assert!(decode_line(line(r#","exit":1"#).as_bytes()).is_ok());
    for bad in
        ["", r#","exit":1,"signal":9"#, r#","exit":"1""#, r#","exit":1,"exit":2"#, r#","exit":4294967296"#]
    {
        assert!(matches!(decode_line(line(bad).as_bytes()), Err(DecodeError::Malformed(_))), "{bad}");
    }
}

#[test]
fn what_is_longer_than_a_record_is_refused_unread() {
    let mut line = br#"{"v":1,"at":"#.to_vec();
    line.resize(MAX_LINE + 1, b'[');
    assert_eq!(decode_line(&line), Err(DecodeError::TooLong));
}

#[test]
fn the_checksum_is_the_one_that_other_tools_know() {
    // python3 -c 'import zlib; print("%08x" % zlib.crc32(open("line").read().split(",\"crc\"")[0].encode()))'
    assert!(encode(&record()).ends_with(",\"crc\":\"6da8eee8\"}\n"));
}

#[test]
fn the_line_in_the_documentation_is_a_record() {
    let text = include_str!("../../../docs/spank.md");
    let line = text.lines().find(|line| line.starts_with(r#"{"v":1"#)).unwrap();
    let record = decode_line(line.as_bytes()).unwrap();
    assert_eq!(encode(&record).trim_end(), line);
}

#[test]
fn a_run_has_a_file_of_its_own() {
    assert_eq!(spool_file_name(4711, 2), "4711.2.jsonl");
}

#[test]
fn all_gpus_are_named_or_none() {
    let all: Vec<String> = (0..56).map(|n| format!("MIG-01234567-89ab-cdef-0123-4567{n:08}")).collect();
    let kept = decode_line(encode(&TaskRecord { gpus: all.clone(), ..record() }).as_bytes()).unwrap();
    assert_eq!(kept.gpus, all);
    let absurd = vec![all[0].clone(); 1_000];
    let dropped = decode_line(encode(&TaskRecord { gpus: absurd, ..record() }).as_bytes()).unwrap();
    assert_eq!(dropped, TaskRecord { gpus: Vec::new(), ..record() });
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
    fn any_json_of_ours_is_answered(
        at in "\\PC{0,30}", what in "task_(start|exit)", step in "(-?[0-9]{1,20}|\"[a-z]{0,6}\"|null|\\[\\])", n in any::<i64>(),
    ) {
        let line = format!(r#"{{"v":1,"at":{at:?},"what":"{what}","step":{step},"rank":{n},"exit":{n}}}"#);
        let _ = decode_line(line.as_bytes());
    }

    #[test]
    fn a_record_survives_its_line(
        at_us in 0_i64..250_000_000_000_000_000, ids in any::<[u32; 6]>(), raw in 0_i32..65_536,
        array in any::<Option<(u32, u32)>>(), uid in any::<Option<u32>>(), name in "[a-zA-Z0-9._-]{0,255}",
        triage in "(|off|monitor|act)", gpus in proptest::collection::vec("[ -~]{1,64}", 0..12), start in any::<bool>(),
    ) {
        let what = if start { What::Start } else { What::End(End::from_wait(raw)) };
        let [job, restart, step, rank, local, pid] = ids;
        let record = TaskRecord {
            at_us, what, cluster: name.clone(), node: name, job, array, restart, step: Step::from_slurm(step), rank, local,
            pid, uid, triage, gpus,
        };
        let line = encode(&record);
        prop_assert!(line.len() <= MAX_LINE);
        prop_assert_eq!(decode_line(line.as_bytes()), Ok(record));
    }

    #[test]
    fn one_flipped_bit_never_gives_another_record(at in any::<proptest::sample::Index>(), bit in 0_u8..8) {
        let mut line = encode(&record()).into_bytes();
        let at = at.index(line.len());
        line[at] ^= 1 << bit;
        // Within the word `crc` it only costs the line its checksum.
        prop_assert!(decode_all(&line).0.iter().all(|read| *read == record()));
    }
}
