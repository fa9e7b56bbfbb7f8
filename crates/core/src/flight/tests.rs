use super::*;
use proptest::prelude::*;

/// Writes what PyTorch's own pickler writes: protocol 2, everything memoized.
struct Pickler {
    out: Vec<u8>,
}

impl Pickler {
    fn new() -> Self {
        Self { out: vec![0x80, 2] }
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.out.push(b'X');
        self.out.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        self.out.extend(text.as_bytes());
        self
    }

    fn int(&mut self, number: i64) -> &mut Self {
        match i32::try_from(number) {
            Ok(small) => {
                self.out.push(b'J');
                self.out.extend(small.to_le_bytes());
            }
            Err(_) => {
                self.out.extend([0x8a, 8]);
                self.out.extend(number.to_le_bytes());
            }
        }
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend(bytes);
        self
    }
}

fn entry(p: &mut Pickler, seq: i64, operation: &str, state: &str) {
    p.raw(b"}(");
    p.text("process_group").text("0").text("default_pg").raw(&[0x86]);
    p.text("collective_seq_id").int(seq);
    p.text("is_p2p").raw(&[0x89]);
    p.text("profiling_name").text(operation);
    p.text("time_created_ns").int(1_770_000_000_000_000_000);
    p.text("input_sizes").raw(b"](").raw(b"](").int(16).int(4).raw(b"ee");
    p.text("state").text(state);
    p.raw(b"u");
}

/// A rank that completed `done` collectives and waits in the next one when `waits`.
fn pickled(done: i64, waits: bool) -> Vec<u8> {
    let mut p = Pickler::new();
    p.raw(b"}(").text("version").text("2.4").text("pg_config").raw(b"}(");
    p.text("0").raw(b"}(").text("desc").text("default_pg").text("ranks").text("[0, 1, 2, 3]").raw(b"uu");
    p.text("entries").raw(b"](");
    for seq in 1..=done {
        entry(&mut p, seq, "nccl:all_reduce", "completed");
    }
    if waits {
        entry(&mut p, done + 1, "nccl:all_reduce", "started");
    }
    p.raw(b"eu.");
    p.out
}

fn dump(bytes: &[u8], rank: u32) -> Dump {
    Dump::read(bytes, Some(rank)).unwrap()
}

#[test]
fn the_rank_that_did_not_come_is_found() {
    let dumps: Vec<Dump> = (0..4).map(|rank| dump(&pickled(7, rank != 2), rank)).collect();
    let summary = summarise(&dumps);
    assert_eq!((summary.dumped.len(), summary.only_missing(), summary.mismatch), (4, Some(2), None));
    assert_eq!(summary.completed["0"][&2], 7);
}

#[test]
fn a_member_without_a_dump_is_missing_where_all_others_have_one() {
    let dumps: Vec<Dump> = [0, 1, 3].map(|rank| dump(&pickled(7, true), rank)).to_vec();
    assert_eq!(summarise(&dumps).only_missing(), Some(2));
    let one = summarise(&dumps[..1]);
    assert!(one.missing.is_empty(), "one dump of four says nothing about the others");
}

#[test]
fn json_says_the_same_as_pickle() {
    let json = r#"{"version":"2.4","pg_config":{"0":{"desc":"default_pg","ranks":[0,1]}},"pg_status":{"0":{"last_enqueued_collective":9,"last_completed_collective":8}},
        "entries":[{"process_group":["0","default_pg"],"collective_seq_id":9,"is_p2p":false,"profiling_name":"nccl:all_gather","input_sizes":[[16,4]],"state":"scheduled"}]}"#;
    let read = dump(json.as_bytes(), 1);
    assert_eq!(read.groups["0"].ranks, [0, 1]);
    assert_eq!((read.groups["0"].last_completed, read.entries[0].seq), (Some(8), 9));
    assert_eq!(read.entries[0].input, "[[16, 4]]");
}

#[test]
fn ranks_in_different_collectives_are_told() {
    let mut other = Pickler::new();
    other.raw(b"}(").text("entries").raw(b"](");
    entry(&mut other, 8, "nccl:all_gather", "started");
    other.raw(b"eu.");
    let dumps = [dump(&pickled(7, true), 0), dump(&other.out, 1)];
    let told = summarise(&dumps).mismatch.unwrap();
    assert!(told.contains("all_reduce") && told.contains("all_gather"), "{told}");
}

#[test]
fn nothing_is_executed() {
    // The classic: os.system("touch /tmp/x") by GLOBAL and REDUCE, where a dump has its entries.
    let mut p = Pickler::new();
    p.raw(b"}(")
        .text("entries")
        .raw(b"cos\nsystem\n")
        .text("touch /tmp/triage-flight")
        .raw(&[0x85, b'R'])
        .raw(b"u.");
    let read = dump(&p.out, 0);
    assert!(read.entries.is_empty());
    assert!(!std::path::Path::new("/tmp/triage-flight").exists());
}

#[test]
fn a_list_that_holds_itself_ends() {
    // ]q\0 h\0 a: a list appended to itself, as the entries.
    let mut p = Pickler::new();
    p.raw(b"}(").text("entries").raw(b"]q\0h\0a").raw(b"u.");
    assert!(dump(&p.out, 0).entries.is_empty());
}

#[test]
fn a_file_in_which_everything_refers_to_everything_stays_small() {
    let mut p = Pickler::new();
    p.raw(b"]q\0");
    for level in 0..200_u8 {
        p.raw(b"](")
            .raw(&[b'h', level, b'h', level, b'h', level, b'h', level])
            .raw(b"e")
            .raw(&[b'q', level + 1]);
    }
    p.raw(b".");
    assert_eq!(Dump::read(&p.out, None), Err(FlightError::NoEntries));
}

#[test]
fn what_every_record_names_again_is_not_kept_again() {
    // Every one of a thousand groups and collectives names the same megabyte: as name, number, list and operation.
    let mut p = Pickler::new();
    p.raw(b"}(").text("long").text(&"7 ".repeat(1 << 19)).raw(b"q\x01").text("pg_config").raw(b"}(");
    for group in 0..500 {
        p.text(&format!("g{group}")).raw(b"}(").text("desc").raw(b"h\x01").text("ranks").raw(b"h\x01u");
    }
    p.raw(b"u").text("entries").raw(b"](");
    for _ in 0..1000 {
        p.raw(b"}(").text("pg_id").raw(b"h\x01").text("seq_id").int(1).text("is_p2p").raw(&[0x89]);
        p.text("collective_seq_id").raw(b"h\x01").text("profiling_name").raw(b"h\x01u");
    }
    p.raw(b"eu.");
    let read = dump(&p.out, 0);
    let names = read.entries.iter().map(|entry| entry.group.len() + entry.operation.len()).sum::<usize>();
    let members =
        read.groups.values().map(|group| group.description.len() + group.ranks.len()).sum::<usize>();
    assert_eq!(read.entries.len(), 1000);
    assert!(names <= 1000 * 512 && members <= 1 << 19, "{names} {members}");
}

#[test]
fn as_many_groups_as_collectives_are_put_side_by_side_at_once() {
    let entry = |n: i64| Entry {
        group: n.to_string(),
        seq: n,
        operation: "nccl:all_reduce".to_owned(),
        input: String::new(),
        completed: false,
        point_to_point: false,
    };
    let dump = |rank| Dump { rank: Some(rank), entries: (0..30_000).map(entry).collect(), ..Dump::default() };
    let started = std::time::Instant::now();
    let summary = summarise(&[dump(0), dump(1)]);
    assert_eq!(summary.completed.len(), 30_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn a_torn_file_says_where() {
    let whole = pickled(3, true);
    for cut in [3, 20, whole.len() / 2, whole.len() - 1] {
        assert!(matches!(Dump::read(&whole[..cut], None), Err(FlightError::Pickle { .. })), "{cut}");
    }
    assert_eq!(Dump::read(b"PK\x03\x04", None), Err(FlightError::NeitherPickleNorJson));
    assert_eq!(Dump::read(b"", None), Err(FlightError::NeitherPickleNorJson));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Dump::read(&bytes, None);
        let mut pickle = vec![0x80, 2];
        pickle.extend(&bytes);
        let _ = Dump::read(&pickle, None);
    }

    #[test]
    fn no_change_of_a_dump_makes_it_panic(at in 0_usize..400, byte in any::<u8>()) {
        let mut bytes = pickled(3, true);
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(read) = Dump::read(&bytes, Some(0)) {
            summarise(&[read]);
        }
    }
}
