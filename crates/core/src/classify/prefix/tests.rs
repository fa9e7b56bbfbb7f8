use super::*;
use crate::Stamp;
use proptest::prelude::*;

const XID: &str = "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.";

fn clock() -> Clock {
    Clock {
        boot: Some("2026-11-29T10:00:00Z".parse().unwrap()),
        utc_offset: 3600,
        latest: "2026-11-29T20:00:00Z".parse().unwrap(),
    }
}

/// Text, sender, host and moment of a line that says Xid 79 after `prefix`.
fn peeled(prefix: &str) -> (String, Sender, Option<String>, Option<String>) {
    let line = format!("{prefix}{XID}");
    let peeled = peel(line.as_bytes());
    (
        String::from_utf8_lossy(peeled.text).into_owned(),
        peeled.sender,
        peeled.host.map(|h| String::from_utf8_lossy(h).into_owned()),
        peeled.time.and_then(|t| t.resolve(&clock())).map(|at: Stamp| at.to_string()),
    )
}

#[test]
fn every_way_of_writing_a_kernel_line_gives_the_same_text() {
    let since_boot = Some("2026-11-29T10:02:03.456789Z");
    let noon = Some("2026-11-29T12:05:23.000000Z");
    let precise = Some("2026-11-29T12:05:23.123456Z");
    for (prefix, sender, host, at) in [
        ("", Sender::Unsaid, None, None),
        ("[  123.456789] ", Sender::Unsaid, None, since_boot),
        ("kernel: ", Sender::Kernel, None, None),
        ("kernel: [  123.456789] ", Sender::Kernel, None, since_boot),
        ("13:05:23  ", Sender::Unsaid, None, None),
        ("[123] ", Sender::Unsaid, None, Some("2026-11-29T10:02:03.000000Z")),
        ("[  123.456789][ T4711] ", Sender::Unsaid, None, since_boot),
        ("[  123.456789] [   C12] ", Sender::Unsaid, None, since_boot),
        ("<4>[  123.456789] ", Sender::Kernel, None, since_boot),
        ("kern  :warn  : [  123.456789] ", Sender::Kernel, None, since_boot),
        ("kern  :notice: [  123.456789] ", Sender::Kernel, None, since_boot),
        ("user  :warn  : [  123.456789] ", Sender::Process, None, since_boot),
        ("local7:info  : [  123.456789] ", Sender::Process, None, since_boot),
        ("[  123.456789 <    0.000012>] ", Sender::Unsaid, None, since_boot),
        ("kern  :crit  : [  123.456789 <    0.000012>] ", Sender::Kernel, None, since_boot),
        ("[  123.456789 <    0.000012>] gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), since_boot),
        ("kern: warning: [2026-11-29T12:05:23.123456789Z]: ", Sender::Kernel, None, precise),
        ("kern:    info: [2026-11-29T12:05:23.123456789Z]: ", Sender::Kernel, None, precise),
        ("user: warning: [2026-11-29T12:05:23.123456789Z]: ", Sender::Process, None, precise),
        ("4,1234,123456789;", Sender::Kernel, None, since_boot),
        ("6.8.0-60-generic,4,1234,123456789,-;", Sender::Kernel, None, since_boot),
        ("6.8.0,12,1234,123456789,-,caller=T1;", Sender::Process, None, since_boot),
        ("kernel:[  123.456789] ", Sender::Kernel, None, since_boot),
        ("kernel:", Sender::Kernel, None, None),
        ("123.456789] ", Sender::Unsaid, None, since_boot),
        ("01:05:23 PM kernel: ", Sender::Kernel, None, None),
        ("29 Nov 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("29 Nov, 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("29 Nov 2026 13:05:23 gpu-01 kernel: [  1.2] ", Sender::Kernel, Some("gpu-01"), noon),
        ("[29 Nov 2026 13:05:23] ", Sender::Unsaid, None, noon),
        ("[Nov 29 13:05:23 2026] ", Sender::Unsaid, None, noon),
        ("[Nov 29 13:05:23] ", Sender::Unsaid, None, noon),
        ("Nov 29 13:05:23 gpu-01 kernel:  <5>", Sender::Kernel, Some("gpu-01"), noon),
        ("11/29/2026 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), None),
        ("11/29/2026, 01:05:23 PM kernel: ", Sender::Kernel, None, None),
        ("[11/29/2026 13:05:23] ", Sender::Unsaid, None, None),
        ("kern  :err   : [  +0.000002] [ T4711] ", Sender::Kernel, None, None),
        ("[2026-11-29 13:05:23.123456] [  123.456789] ", Sender::Unsaid, None, precise),
        ("Sun 2026-11-29 13:05:23 CET gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("[Sun Nov 29 13:05:23 CET 2026] ", Sender::Unsaid, None, noon),
        ("2026/11/29 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("13:05:23 kernel: ", Sender::Kernel, None, None),
        ("Sun Nov 29 13:05:23 2026 kern.warn kernel: [  1.234567] ", Sender::Kernel, None, noon),
        ("Sun Nov 29 13:05:23 2026 kern.err kernel: ", Sender::Kernel, None, noon),
        ("2026-11-29 12:05:23 +0000 UTC kern.alert kernel: ", Sender::Kernel, None, noon),
        ("Nov 29 13:05:23 gpu-01 kern.warn kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("Nov 29 13:05:23.123456 gpu-01 WARNING kernel: [  1.2] ", Sender::Kernel, Some("gpu-01"), precise),
        ("2026 Nov 29 13:05:23.123456 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), precise),
        ("Nov 29 2026 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("[mar. févr.  8 13:05:23 2022] ", Sender::Unsaid, None, None),
        ("[Ter Set 29 13:05:23 2026] ", Sender::Unsaid, None, None),
        ("[二 4月 22 13:05:23 2025] ", Sender::Unsaid, None, None),
        ("[Sun Nov 29 13:05:23 2026 <    0.000012>] ", Sender::Unsaid, None, noon),
        ("[<    0.000012>] ", Sender::Unsaid, None, None),
        ("[13:05:23] ", Sender::Unsaid, None, None),
        ("[...] ", Sender::Unsaid, None, None),
        ("Sun Nov 29 13:05:23 2026 ", Sender::Unsaid, None, noon),
        ("Nov 29 13:05:23 gpu-01 kernel:  [  1.2] ", Sender::Kernel, Some("gpu-01"), noon),
        ("11月 29 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), None),
        ("nov. 29 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), None),
        (
            "Dez 01 13:05:23 gpu-01.cluster.example kernel: ",
            Sender::Kernel,
            Some("gpu-01.cluster.example"),
            None,
        ),
        ("2026-11-29T13:05:23,123456+01:00 [ T4711] ", Sender::Unsaid, None, precise),
        ("1 2026-11-29T12:05:23.123456Z gpu-01 kernel - - - ", Sender::Kernel, Some("gpu-01"), precise),
        (
            "<4>1 2026-11-29T12:05:23.123456Z gpu-01 kernel - - [meta sequenceId=\"1\" x=\"] \\\" [\"][b] \u{feff}",
            Sender::Kernel,
            Some("gpu-01"),
            precise,
        ),
        ("[Sun Nov 29 13:05:23 2026] ", Sender::Unsaid, None, noon),
        ("[Sun Nov 29 12:05:23 UTC 2026] ", Sender::Unsaid, None, noon),
        ("[Nov 29 2026 13:05:23] ", Sender::Unsaid, None, noon),
        ("[2026-11-29 13:05:23.123456][  123.456789] ", Sender::Unsaid, None, precise),
        ("kernel: message repeated 9 times: [ ", Sender::Kernel, None, None),
        ("2026-11-29 13:05:23.123456 kernel:[  123.456789] ", Sender::Kernel, None, precise),
        ("Nov 29 13:05:23 kernel: ", Sender::Kernel, None, noon),
        ("[Nov29 13:05] ", Sender::Unsaid, None, None),
        ("[  +0.000012] ", Sender::Unsaid, None, None),
        ("2026-11-29T13:05:23,123456+01:00 ", Sender::Unsaid, None, precise),
        ("kern  :err   : 2026-11-29T13:05:23,123456+01:00 ", Sender::Kernel, None, precise),
        ("4,1234,123456789,-;", Sender::Kernel, None, since_boot),
        ("3,1234,123456789,-,caller=T12;", Sender::Kernel, None, since_boot),
        ("12,1234,123456789,-;", Sender::Process, None, since_boot),
        ("Nov 29 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("Nov 29 13:05:23 gpu-01 kernel: [  123.456789] ", Sender::Kernel, Some("gpu-01"), noon),
        ("Nov 29 13:05:23.123456 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), precise),
        ("2026-11-29T13:05:23+0100 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("2026-11-29T12:05:23.123456Z gpu-01 kernel: [  1.2] ", Sender::Kernel, Some("gpu-01"), precise),
        ("2026-11-29T13:05:23.123456+01:00 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), precise),
        ("2026-11-29 13:05:23 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("Sun 2026-11-29 12:05:23 UTC gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), noon),
        ("1795953923.123456 gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), precise),
        ("[  123.456789] gpu-01 kernel: ", Sender::Kernel, Some("gpu-01"), since_boot),
        ("<3>1 2026-11-29T12:05:23.123456Z gpu-01 kernel - - - ", Sender::Kernel, Some("gpu-01"), precise),
    ] {
        let expected = (XID.to_owned(), sender, host.map(str::to_owned), at.map(str::to_owned));
        assert_eq!(peeled(prefix), expected, "{prefix:?}");
    }
}

#[test]
fn the_name_of_another_sender_stays_and_marks_the_line() {
    for prefix in [
        "Nov 29 13:05:23 gpu-01 python[4711]: ",
        "2026-11-29T13:05:23+01:00 gpu-01 logger[4711]: ",
        "<14>Nov 29 13:05:23 gpu-01 job[1]: ",
        "<14>1 2026-11-29T12:05:23Z gpu-01 python 4711 - - ",
        "2026-11-29T13:05:23+01:00 gpu-01 kernel[4711]: ",
        "Sun Nov 29 13:05:23 2026 user.warn kernel: ",
        "Sun Nov 29 13:05:23 2026 daemon.err python[4711]: ",
        "Nov 29 13:05:23 gpu-01 user.notice logger: ",
        "nov. 29 13:05:23 gpu-01 python[4711]: ",
        "Nov 29 13:05:23 gpu-01 ERR python[4711]: ",
        "1 2026-11-29T12:05:23Z gpu-01 python 4711 - - ",
    ] {
        let (text, sender, _, _) = peeled(prefix);
        assert_eq!(sender, Sender::Process, "{prefix:?}");
        assert_ne!(text, XID, "{prefix:?}");
        assert!(text.ends_with(XID), "{prefix:?}");
    }
}

#[test]
fn a_facility_on_the_wire_is_believed_before_a_name() {
    assert_eq!(peeled("<14>Nov 29 13:05:23 gpu-01 kernel: ").1, Sender::Process);
}

#[test]
fn a_process_without_a_pid_is_not_the_kernel() {
    let line = format!("Nov 29 13:05:23 gpu-01 logger: {XID}");
    let peeled = peel(line.as_bytes());
    assert_ne!(peeled.text, XID.as_bytes());
    assert_ne!(peeled.sender, Sender::Kernel);
}

#[test]
fn what_systemd_says_of_a_unit_keeps_systemds_name() {
    let line = b"2026-11-29T13:05:23,123456+01:00 systemd[1]: slurmd.service: Main process exited, code=exited, status=1/FAILURE";
    assert!(peel(line).text.starts_with(b"systemd[1]: slurmd.service: "));
    assert_eq!(peel(line).host, None);
}

#[test]
fn a_text_that_looks_like_a_prefix_stays() {
    for text in [
        "[Hardware Error]: event severity: fatal",
        "{1}[Hardware Error]: x",
        "[drm] ready",
        "6,text",
        "[T1] x",
        "kern: x",
        "6.8.0,x;y",
        "user.warn x",
    ] {
        assert_eq!(peel(text.as_bytes()), Peeled::bare(text.as_bytes()), "{text}");
    }
}

#[test]
fn a_year_that_is_left_out_is_the_last_one_possible() {
    let late = Local { year: None, month: 12, day: 31, second: 0, micros: 0 };
    assert_eq!(LineTime::Local(late).resolve(&clock()).unwrap().to_string(), "2025-12-30T23:00:00.000000Z");
    let leap = Local { year: None, month: 2, day: 29, second: 0, micros: 0 };
    assert_eq!(LineTime::Local(leap).resolve(&clock()).unwrap().to_string(), "2024-02-28T23:00:00.000000Z");
}

#[test]
fn days_and_hours_that_do_not_exist_are_no_time() {
    for prefix in
        ["2026-02-31T00:00:00Z h kernel: ", "Nov 29 24:00:00 h kernel: ", "2026-13-01T00:00:00Z h kernel: "]
    {
        assert_eq!(peeled(prefix).3, None, "{prefix}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_the_text_is_the_end_of_the_line(line in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(line.strip_suffix(b"\r").unwrap_or(&line).ends_with(peel(&line).text));
    }

    #[test]
    fn nothing_that_resembles_a_prefix_makes_it_panic(line in r"[<\[(]?[0-9A-Z][0-9a-zA-Z:.,+ <>\[\]-]{0,40}( kernel: |\] |;|: )?.{0,20}", at in any::<i64>()) {
        let peeled = peel(line.as_bytes());
        let clock = Clock { boot: Some(Stamp::from_micros(at)), utc_offset: i32::MAX, latest: Stamp::from_micros(at) };
        let _ = peeled.time.and_then(|t| t.resolve(&clock));
    }
}
