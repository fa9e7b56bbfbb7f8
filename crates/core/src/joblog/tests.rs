use super::prefix::{peel, without_escapes};
use super::*;
use crate::Stamp;
use proptest::prelude::*;

fn calendar() -> Calendar {
    Calendar { start: Stamp::from_secs(1_770_000_000), end: Stamp::from_secs(1_770_086_400) }
}

fn text(line: &str) -> String {
    String::from_utf8_lossy(peel(line.as_bytes()).text).into_owned()
}

#[test]
fn prefixes_of_every_kind_come_off_and_are_kept() {
    let peeled =
        peel(b"115: [rank115]:[E207 19:04:38.123186550 ProcessGroupNCCL.cpp:697] [Rank 14] Watchdog");
    assert_eq!((peeled.task, peeled.rank, peeled.group_rank), (Some(115), Some(115), Some(14)));
    assert_eq!(peeled.text, b"[Rank 14] Watchdog");

    let peeled = peel(b" 3: c07:9001:9002 [5] misc/socket.cc:49 NCCL WARN x");
    assert_eq!(
        (peeled.task, peeled.host, peeled.pid, peeled.gpu),
        (Some(3), Some(&b"c07"[..]), Some(9001), Some(5))
    );
    assert_eq!(peeled.text, b"misc/socket.cc:49 NCCL WARN x");

    assert_eq!(text("[2026-02-02 12:15:56] c07:1:2 [0] x.cc:1 NCCL WARN y"), "x.cc:1 NCCL WARN y");
    assert_eq!(text("[c07:189920:0:189920] Caught signal 7"), "Caught signal 7");
    assert_eq!(text("2019-06-02T16:13:44.884Z: [1,12]<stdout>:c05:8:9 [0] w"), "w");
    assert_eq!(text("Fri Aug 11 12:31:45 2023[1,0]<stdout>:c05:8:9 [0] w"), "w");
    assert_eq!(text("48: Feb 16 11:46:12.517314 slurmstepd: error: x"), "slurmstepd: error: x");
    assert_eq!(text("10.0.23.10: c10:1:2 [0] w"), "w");
    assert_eq!(text("E0825 17:31:27.240000 139795 torch/api.py:826] failed"), "failed");
    assert_eq!(text("[E ProcessGroupNCCL.cpp:458] [Rank 7] w"), "[Rank 7] w");
}

#[test]
fn what_looks_like_a_prefix_and_is_none_stays() {
    for line in ["12 apples", "I have [seen: 1] it", "note: fine", "[info] hello", "3.14: pi", "a:b:c [d] e"]
    {
        assert_eq!(text(line), line);
    }
}

#[test]
fn a_stamp_without_a_year_is_of_the_job() {
    let at = peel(b"[E202 03:00:00.500 x.cpp:1] w").at(&calendar()).unwrap();
    assert_eq!(at.to_string(), "2026-02-02T03:00:00.500000Z");
    let at = peel(b"[E1231 23:59:59 x.cpp:1] w").at(&calendar()).unwrap();
    assert_eq!(at.to_string(), "2025-12-31T23:59:59.000000Z");
}

#[test]
fn escapes_are_taken_out() {
    assert_eq!(&*without_escapes(b"\x1b[31mstep:\x1b[0m 1\x1b]0;title\x07!"), b"step: 1!");
    assert_eq!(&*without_escapes(b"open \x1b["), b"open ");
}

proptest! {
    #[test]
    fn no_line_makes_the_peeler_panic(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        let peeled = peel(&line);
        prop_assert!(line.ends_with(peeled.text));
        let _ = peeled.at(&calendar());
    }

    #[test]
    fn prefix_like_lines_do_not_make_it_panic(line in r"[\[\]0-9A-Z:. ,|<>a-z/-]{0,80}") {
        let _ = peel(line.as_bytes()).at(&calendar());
    }
}
