use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use proptest::prelude::*;
use triage_core::{BootId, NodeName, Payload, Provenance, SourceKind, Stamp};

use super::device::Records;
use super::record::Record;
use super::walk::Walk;
use crate::clock::{Clock, Deadline, SystemClock};
use crate::kernel_log::{Cursor, KernelRead, KmsgCursor, Limits, Lost};
use crate::testkit::FakeClock;

const UNBOUND: Limits = Limits { max_bytes: usize::MAX, until: None };

/// A ring as the device shows it: answers in order, then "no more".
struct Ring {
    answers: Vec<Result<Vec<u8>, Errno>>,
    left: VecDeque<Result<Vec<u8>, Errno>>,
}

impl Ring {
    fn new(answers: impl IntoIterator<Item = Result<Vec<u8>, Errno>>) -> Self {
        let answers: Vec<_> = answers.into_iter().collect();
        Self { left: answers.iter().cloned().collect(), answers }
    }

    /// The kernel's records with these numbers.
    fn numbered(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self::new(numbers.into_iter().map(|n| Ok(format!("6,{n},{},-;line {n}\n", n * 1000).into_bytes())))
    }
}

impl Records for Ring {
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let record = self.left.pop_front().unwrap_or(Err(Errno::EAGAIN))?;
        let room = buffer.get_mut(..record.len()).ok_or(Errno::EINVAL)?;
        room.copy_from_slice(&record);
        Ok(record.len())
    }

    fn rewind(&mut self) -> Result<(), Errno> {
        self.left = self.answers.iter().cloned().collect();
        Ok(())
    }
}

fn boot() -> BootId {
    BootId::from("b1")
}

fn clock() -> FakeClock {
    FakeClock::at(Stamp::from_secs(1_800_000_000))
}

fn at(next: u64) -> KmsgCursor {
    KmsgCursor { boot: boot(), next, read_at: Stamp::from_secs(1_799_999_000) }
}

fn read(ring: &mut Ring, cursor: Option<&KmsgCursor>, limits: Limits) -> KernelRead {
    Walk { boot: &boot(), admit_user: false, cursor, limits, clock: &clock() }.run(ring).unwrap()
}

fn next(read: &KernelRead) -> u64 {
    read.cursor.as_kmsg().unwrap().next
}

fn texts(read: &KernelRead) -> Vec<String> {
    read.lines().map(|line| line.text.into_owned()).collect()
}

#[test]
fn a_pass_begins_behind_what_was_read() {
    let all = read(&mut Ring::numbered(7..10), None, UNBOUND);
    assert_eq!(
        (texts(&all), next(&all), all.lost.len()),
        (vec!["line 7".into(), "line 8".into(), "line 9".into()], 10, 0)
    );
    let rest = read(&mut Ring::numbered(7..12), Some(&at(10)), UNBOUND);
    assert_eq!((texts(&rest), next(&rest)), (vec!["line 10".into(), "line 11".into()], 12));
    let none = read(&mut Ring::numbered(7..12), Some(&at(12)), UNBOUND);
    assert_eq!((none.is_empty(), next(&none), none.lost.len(), none.more), (true, 12, 0, false));
}

#[test]
fn what_was_overwritten_between_two_passes_is_a_gap() {
    let read = read(&mut Ring::numbered(20..22), Some(&at(12)), UNBOUND);
    assert_eq!(read.lost, [Lost::Records { from: 12, to: 19 }]);
    let seen = read.observe_lost(&NodeName::from("n1"));
    assert_eq!(seen[0].payload, Payload::Gap { from: 12, to: 19 });
    assert_eq!(texts(&read), ["line 20", "line 21"]);
}

#[test]
fn what_was_overwritten_while_reading_is_a_gap() {
    let record = |n: u64| Ok(format!("6,{n},1,-;line {n}\n").into_bytes());
    let mut ring = Ring::new([record(1), Err(Errno::EPIPE), record(50), Err(Errno::EINTR), record(51)]);
    let read = read(&mut ring, Some(&at(1)), UNBOUND);
    assert_eq!(read.lost, [Lost::Records { from: 2, to: 49 }]);
    assert_eq!(texts(&read), ["line 1", "line 50", "line 51"]);
}

#[test]
fn a_record_that_is_none_is_missed_and_said() {
    let record = |n: u64| Ok(format!("6,{n},1,-;line {n}\n").into_bytes());
    let mut ring = Ring::new([record(1), Ok(b"what is this".to_vec()), record(3)]);
    assert_eq!(read(&mut ring, Some(&at(1)), UNBOUND).lost, [Lost::Records { from: 2, to: 2 }]);
}

#[test]
fn a_new_boot_begins_anew_and_owes_its_first_records() {
    let earlier = KmsgCursor { boot: BootId::from("b0"), ..at(5_000) };
    let whole = read(&mut Ring::numbered(0..3), Some(&earlier), UNBOUND);
    assert_eq!((whole.len(), whole.lost.len(), next(&whole)), (3, 0, 3));
    let late = read(&mut Ring::numbered(4..6), Some(&earlier), UNBOUND);
    assert_eq!(late.lost, [Lost::Records { from: 0, to: 3 }]);
}

#[test]
fn a_first_pass_on_a_machine_long_up_owes_nothing() {
    assert_eq!(read(&mut Ring::numbered(4_000..4_002), None, UNBOUND).lost, []);
}

#[test]
fn a_machine_set_back_to_a_snapshot_is_read_anew_and_said() {
    let set_back = read(&mut Ring::numbered(0..3), Some(&at(100)), UNBOUND);
    assert_eq!((set_back.len(), next(&set_back)), (3, 3));
    assert!(matches!(&set_back.lost[..], [Lost::Unknown(why)] if why.contains("record 100")));
    let after = read(&mut Ring::numbered(0..4), Some(set_back.cursor.as_kmsg().unwrap()), UNBOUND);
    assert_eq!((texts(&after), after.lost.len()), (vec!["line 3".to_owned()], 0));
}

#[test]
fn an_empty_ring_is_not_said_again_and_again() {
    let first = read(&mut Ring::numbered(0..0), Some(&at(100)), UNBOUND);
    assert_eq!(first.lost.len(), 1);
    assert_eq!(read(&mut Ring::numbered(0..0), first.cursor.as_kmsg(), UNBOUND).lost, []);
}

#[test]
fn a_bound_leaves_the_rest_for_the_next_pass_and_loses_nothing() {
    let limits = Limits { max_bytes: 20, until: None };
    let (mut seen, mut cursor) = (Vec::new(), Some(at(0)));
    for _ in 0..100 {
        let part = read(&mut Ring::numbered(0..50), cursor.as_ref(), limits);
        seen.extend(texts(&part));
        cursor = part.cursor.as_kmsg().cloned();
        if !part.more {
            break;
        }
    }
    assert_eq!(seen, (0..50).map(|n| format!("line {n}")).collect::<Vec<_>>());
}

#[test]
fn a_deadline_before_the_first_new_record_moves_no_cursor() {
    let clock = clock();
    let limits = Limits { max_bytes: usize::MAX, until: Some(Deadline::after(&clock, Duration::ZERO)) };
    let cursor = at(5_000);
    let walk = Walk { boot: &boot(), admit_user: false, cursor: Some(&cursor), limits, clock: &clock };
    let read = walk.run(&mut Ring::numbered(0..6_000)).unwrap();
    assert_eq!((read.more, read.len(), read.lost.len()), (true, 0, 0));
    assert_eq!(read.cursor, Cursor::Kmsg(cursor));
}

#[test]
fn a_device_that_fails_is_an_error_and_not_silence() {
    let walk = Walk { boot: &boot(), admit_user: false, cursor: None, limits: UNBOUND, clock: &clock() };
    assert_eq!(walk.run(&mut Ring::new([Err(Errno::EIO)])).unwrap_err(), Errno::EIO);
}

#[test]
fn what_a_program_wrote_is_dropped_or_marked() {
    let ring = || Ring::new([Ok(b"4,1,1,-;NVRM: real\n".to_vec()), Ok(b"12,2,2,-;NVRM: forged\n".to_vec())]);
    let dropped = read(&mut ring(), None, UNBOUND);
    assert_eq!(
        (texts(&dropped), dropped.dropped_user_lines, next(&dropped)),
        (vec!["NVRM: real".to_owned()], 1, 3)
    );
    let walk = Walk { boot: &boot(), admit_user: true, cursor: None, limits: UNBOUND, clock: &clock() };
    let admitted = walk.run(&mut ring()).unwrap();
    assert_eq!(admitted.lines().map(|line| line.synthetic).collect::<Vec<_>>(), [false, true]);
    let line = admitted.lines().last().unwrap();
    let observation = admitted.observe(&NodeName::from("n1"), &line);
    assert!(observation.synthetic);
    assert_eq!((observation.source, observation.provenance), (SourceKind::Kmsg, Provenance::Trusted));
}

#[test]
fn a_new_record_is_dated_between_the_last_look_and_now() {
    // The machine has been up for an hour; these say they are from its start, from now and from tomorrow.
    let ring = || {
        Ring::new(
            [1_u64, 3_599_000_000, 90_000_000_000]
                .iter()
                .enumerate()
                .map(|(n, micros)| Ok(format!("6,{n},{micros},-;x\n").into_bytes())),
        )
    };
    let now = clock().now();
    let times = |read: &KernelRead| {
        read.lines().map(|line| now.micros_since(line.at) / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(times(&read(&mut ring(), Some(&at(0)), UNBOUND)), [1_000, 1, 0]);
    assert_eq!(
        times(&read(&mut ring(), None, UNBOUND)),
        [3_599, 1, 0],
        "nothing is known about the last look"
    );
    let future = KmsgCursor { read_at: now.plus_secs(500), ..at(0) };
    assert_eq!(
        times(&read(&mut ring(), Some(&future), UNBOUND)),
        [3_599, 1, 0],
        "the wall clock was set back"
    );
}

#[test]
fn a_process_name_with_a_line_feed_forges_no_line() {
    let record = b"6,9,9,-;comm: x\\x0aNVRM: Xid (PCI:0000:61:00): 79\\x1b[2J caf\\xc3\\xa9 \\x5c \\x09end\n SUBSYSTEM=pci\n";
    let read = read(&mut Ring::new([Ok(record.to_vec())]), None, UNBOUND);
    assert_eq!(texts(&read), ["comm: x\\x0aNVRM: Xid (PCI:0000:61:00): 79\\x1b[2J caf\u{e9} \\ \tend"]);
    assert_eq!(read.buffer().iter().filter(|b| **b == b'\n').count(), 1);
}

#[test]
fn control_characters_that_were_not_escaped_are_blanks() {
    let read = read(&mut Ring::new([Ok(b"6,9,9,-;a\0b\x1b\\x41\0".to_vec())]), None, UNBOUND);
    assert_eq!(texts(&read), ["a b \\x41 "]);
}

#[test]
fn a_line_is_found_from_any_of_its_bytes() {
    let read = read(&mut Ring::numbered(8..12), None, UNBOUND);
    for (offset, _) in read.buffer().iter().enumerate() {
        let number = 8 + read.buffer()[..offset].iter().filter(|b| **b == b'\n').count() as u64;
        assert_eq!(read.line_at(offset).unwrap().cursor, number);
    }
}

#[test]
fn records_of_every_kernel_are_understood() {
    for (bytes, expected) in [
        (&b"6,339,5140900,-;NET: Registered\n"[..], Some((339, 5_140_900, true))),
        (b"30,340,5690716,-;udevd[80]: starting\n", Some((340, 5_690_716, false))),
        (b"4,1,2,c,caller=T123,later=x;text; more\n", Some((1, 2, true))),
        (b"6,18446744073709551615,9223372036854775807,-;x", Some((u64::MAX, i64::MAX, true))),
        (b"6,1,9223372036854775808,-;x", None),
        (b"6,1,;x", None),
        (b"-6,1,2,-;x", None),
        (b"6,1,2,-", None),
        (b";", None),
        (b"", None),
    ] {
        let parts = Record::parse(bytes).map(|r| (r.sequence, r.micros, r.is_kernels()));
        assert_eq!(parts, expected, "{}", String::from_utf8_lossy(bytes));
    }
}

proptest! {
    #[test]
    fn no_record_makes_it_panic_or_breaks_the_buffer(records in proptest::collection::vec(
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            (0_u64..200, any::<u64>(), 0..30_u64, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(
                |(priority, micros, sequence, text)| {
                    [format!("{priority},{sequence},{micros},-;").into_bytes(), text].concat()
                }
            ),
        ],
        0..20,
    ), cursor in proptest::option::of(0_u64..40)) {
        let read = read(&mut Ring::new(records.into_iter().map(Ok)), cursor.map(at).as_ref(), UNBOUND);
        prop_assert_eq!(read.buffer().iter().filter(|b| **b == b'\n').count(), read.len());
        prop_assert!(!read.buffer().contains(&0));
        prop_assert_eq!(read.lines().count(), read.len());
    }

    #[test]
    fn every_record_is_read_once_or_said_to_be_lost(
        steps in proptest::collection::vec((0_u64..30, 0_u64..60), 1..12),
    ) {
        // The ring grows by `new` records between passes and forgets all but the last `kept`.
        let (mut end, mut cursor, mut accounted) = (0_u64, Some(KmsgCursor { next: 0, ..at(0) }), 0_u64);
        for (new, kept) in steps {
            end += new;
            let start = end.saturating_sub(kept);
            if start == end {
                continue;
            }
            let read = read(&mut Ring::numbered(start..end), cursor.as_ref(), UNBOUND);
            accounted += read.len() as u64;
            for lost in &read.lost {
                match lost {
                    Lost::Records { from, to } => accounted += to - from + 1,
                    Lost::Unknown(why) => prop_assert!(false, "{}", why),
                }
            }
            prop_assert_eq!(accounted, end);
            cursor = read.cursor.as_kmsg().cloned();
        }
    }
}

/// The real device. Programs may write into it as facility user, which is what this does.
#[test]
fn the_real_device_drops_what_programs_write_and_goes_on_where_it_stopped() {
    let device = Path::new("/dev/kmsg");
    let Ok(mut writer) = std::fs::File::options().write(true).open(device) else {
        eprintln!("skipped: /dev/kmsg cannot be written; needs root");
        return;
    };
    let boot = crate::proc::Root::default().boot_id().unwrap();
    let read = |cursor: Option<&KmsgCursor>, admit| {
        super::read_new(device, &boot, admit, cursor, UNBOUND, &SystemClock)
    };
    let Ok(before) = read(None, false) else {
        eprintln!("skipped: /dev/kmsg cannot be read here");
        return;
    };
    let cursor = before.cursor.as_kmsg().cloned();
    let mark = format!("slurm-triage test {} {}", std::process::id(), SystemClock.now().micros());
    let sent = SystemClock.now();
    if writer.write_all(format!("<12>{mark}\\ \u{e9}\n").as_bytes()).is_err() {
        eprintln!("skipped: /dev/kmsg takes no messages (kernel.printk_devkmsg=off?)");
        return;
    }
    let dropped = read(cursor.as_ref(), false).unwrap();
    assert!(dropped.dropped_user_lines >= 1);
    assert!(!dropped.lines().any(|line| line.text.contains(&mark)));

    let admitted = read(cursor.as_ref(), true).unwrap();
    let line = admitted.lines().find(|line| line.text.contains(&mark)).unwrap();
    assert!(line.synthetic);
    assert_eq!(line.text, format!("{mark}\\ \u{e9}"));
    let off = line.at.micros_since(sent).abs();
    assert!(off < 60_000_000, "dated {off} us off");

    let after = read(admitted.cursor.as_kmsg(), true).unwrap();
    assert!(!after.lines().any(|line| line.text.contains(&mark)), "read twice");
    assert!(next(&after) >= next(&admitted));
}
