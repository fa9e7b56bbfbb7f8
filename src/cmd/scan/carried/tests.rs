use super::*;
use proptest::prelude::*;

const XID: &str = "NVRM: Xid (PCI:0000:61:00): 79, pid=4711, name=python3, GPU has fallen off the bus.";

fn clock() -> Clock {
    Clock { boot: None, utc_offset: 0, latest: "2026-11-30T00:00:00Z".parse().unwrap() }
}

/// Codes and moments of all lines of a log.
fn found(log: &str) -> Vec<(String, Option<String>)> {
    let catalog = triage_catalog::embedded();
    let lines = catalog.candidates(Origin::Kernel, log.as_bytes());
    let found = lines.filter_map(|line| read(&catalog, &clock(), log.as_bytes(), line));
    found.map(|found| (found.meaning.code.to_string(), found.time.map(|at| at.to_string()))).collect()
}

fn codes(log: &str) -> Vec<String> {
    found(log).into_iter().map(|(code, _)| code).collect()
}

#[test]
fn what_carries_a_line_of_the_kernels_does_not_hide_it() {
    let quoted = XID.replace('"', "\"\"");
    for line in [
        format!("2026-11-29T12:05:23.123456789Z stderr F [ 8123.442211] {XID}"),
        format!("2026-11-29T12:05:23.123456789Z stdout P <4>[ 8123.442211] {XID}"),
        format!(
            "{{\"log\":\"[ 8123.442211] {XID}\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-29T12:05:23Z\"}}"
        ),
        format!("{{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"{XID}\",\"PRIORITY\":\"3\"}}"),
        format!("{{\"MESSAGE\":\"{XID}\",\"SYSLOG_IDENTIFIER\":\"kernel\"}}"),
        format!("{{\"_source\":{{\"message\":\"Nov 29 13:05:23 gpu-01 kernel: {XID}\"}}}}"),
        format!("{{\"jsonPayload\":{{\"MESSAGE\":\"{XID}\",\"_TRANSPORT\":\"kernel\"}}}}"),
        format!("\"Nov 29, 2026 @ 13:05:23.123\",\"gpu-01\",\"kernel\",\"{quoted}\""),
        format!("\"2026-11-29T12:05:23Z\",\"Nov 29 13:05:23 gpu-01 kernel: {quoted}\",\"gpu-01\",\"syslog\""),
        format!("1795953923123456789,\"[ 8123.442211] {quoted}\""),
        format!("2026-11-29 12:05:23\tgpu-01\tkernel\t{XID}"),
        format!("\"{{\"\"transport\"\":\"\"kernel\"\"}}\",\"2026-11-29T12:05:23Z\",\"{quoted}\""),
        format!("2026-11-29T12:05:23Z {{host=\"gpu-01\", transport=\"kernel\"}} {XID}"),
        format!("gpu-01: [Sun Nov 29 13:05:23 2026] {XID}"),
        format!("10.1.2.3: kern: warning: [2026-11-29T12:05:23.123456789Z]: {XID}"),
        format!("/var/log/messages-20261129:Nov 29 13:05:23 gpu-01 kernel: {XID}"),
        format!("kern.log:42:Nov 29 13:05:23 gpu-01 kernel: [ 8123.442211] {XID}"),
        format!("gpu-01 login: [ 8123.442211] {XID}"),
        format!("root@gpu-01:~# [ 8123.442211] {XID}"),
        format!("gpu-01 kernel: [ 8123.442211] {XID}"),
        format!("> > [ 8123.442211] {XID}"),
        format!("Nov 29 13:05:23 gpu-01 4,1234,123456789,-,caller=T1;{XID}"),
        format!("\x1b[32m[ 8123.442211] \x1b[0m\x1b[1;31m{XID}\x1b[0m"),
        format!("#033[32m[ 8123.442211] #033[0m{XID}"),
    ] {
        assert_eq!(codes(&line), ["xid.79"], "{line}");
        assert!(origins(line.as_bytes()) > Origins::Unsaid || !line.contains("8123"), "{line}");
    }
}

#[test]
fn what_a_process_wrote_is_not_the_kernels_whatever_carries_it() {
    for line in [
        format!("{{\"_TRANSPORT\":\"stdout\",\"SYSLOG_IDENTIFIER\":\"python3\",\"MESSAGE\":\"{XID}\"}}"),
        // The journal knows better than `logger -t kernel`.
        format!("{{\"_TRANSPORT\":\"syslog\",\"SYSLOG_IDENTIFIER\":\"kernel\",\"MESSAGE\":\"{XID}\"}}"),
        format!("{{\"message\":\"{XID}\",\"program\":\"python3\"}}"),
        format!("{{\"message\":\"Nov 29 13:05:23 gpu-01 python3[1]: {XID}\"}}"),
        format!("{{\"log\":\"user  :warn  : [ 1.0] {XID}\"}}"),
        format!("\"Nov 29, 2026 @ 13:05:23.123\",\"gpu-01\",\"python3\",\"{XID}\""),
        format!("2026-11-29 12:05:23\tgpu-01\tpython3\t{XID}"),
        format!("2026-11-29T12:05:23Z {{transport=\"stdout\", unit=\"x.service\"}} {XID}"),
        format!("gpu-01: Nov 29 13:05:23 gpu-01 python3[1]: {XID}"),
        format!("Nov 29 13:05:23 gpu-01 python3[1]: {{\"MESSAGE\":\"{XID}\"}}"),
        format!("Nov 29 13:05:23 gpu-01 python3[1]: [ 8123.442211] {XID}"),
        format!("Nov 29 13:05:23 gpu-01 python3: [ 8123.442211] {XID}"),
        format!("Nov 29 13:05:23 gpu-01 python3: # [ 8123.442211] {XID}"),
        format!("Nov 29 13:05:23 gpu-01 python3: a\",\"kernel\",\"{XID}\""),
        format!("Nov 29 13:05:23 gpu-01 python3: a\tkernel\t{XID}"),
        format!("Nov 29 13:05:23 gpu-01 python3: 4,1234,123456789,-;{XID}"),
        format!("2026-11-29T13:05:23+01:00 gpu-01 python3: a,kernel,{XID}"),
        format!("2026-11-29T13:05:23+01:00 gpu-01 python3: x: [ 8123.442211] {XID}"),
        format!("[ 8123.442211] fuse: [ 8123.442211] {XID}"),
        format!("[ 8123.442211] process '/u/{{\"MESSAGE\":\"{XID}\"}}' started with executable stack"),
        format!("audit: type=1300 comm=\"x\" exe=\"/u/x,kernel,{XID}\""),
    ] {
        assert_eq!(codes(&line), [""; 0], "{line}");
        assert!(line.starts_with("[ 8123") || origins(line.as_bytes()) == Origins::Unsaid, "{line}");
    }
}

#[test]
fn what_frameworks_write_in_brackets_is_no_time_of_the_kernels() {
    for line in [
        "[2026-11-29 13:05:23,123] [INFO] [config.py:1001:print] x",
        "0: [2026-11-29 13:05:23,123] [INFO] [config.py:1001:print] x",
        "[1795953923.123456] [gpu-01:4711:0]  ucp_context.c:1234 UCX  WARN x",
        "[Sun Nov 29 13:05:23.123456 2026] [core:warn] x",
        "[rank0]: x",
        "[0] x",
        "kernel: x",
    ] {
        assert_eq!(origins(line.as_bytes()), Origins::Unsaid, "{line}");
    }
    for line in ["[  123.456789] x", "[Sun Nov 29 13:05:23 2026] x", "n1: [  123.456789] x"] {
        assert_eq!(origins(line.as_bytes()), Origins::LikeKernel, "{line}");
    }
    for line in [
        "Nov 29 13:05:23 n1 kernel: x",
        "<4>[  123.456789] x",
        "4,1,1,-;x",
        "{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"x\"}",
    ] {
        assert_eq!(origins(line.as_bytes()), Origins::Kernel, "{line}");
    }
}

#[test]
fn a_service_is_heard_in_the_journals_json_too() {
    let line = "{\"_TRANSPORT\":\"journal\",\"SYSLOG_IDENTIFIER\":\"systemd\",\"_PID\":\"1\",\"MESSAGE\":\
                \"slurmd.service: Main process exited, code=exited, status=1/FAILURE\"}";
    assert_eq!(codes(line), ["service.failed"]);
}

#[test]
fn a_record_with_a_field_a_line_says_who_wrote_it() {
    let record = |transport: &str, identifier: &str, message: &str| {
        format!(
            "__REALTIME_TIMESTAMP=1795953923000000\n_PID=1\nMESSAGE={message}\nSYSLOG_IDENTIFIER={identifier}\n\
             _TRANSPORT={transport}\nPRIORITY=3\n\n"
        )
    };
    let process = record("stdout", "python3", XID);
    let log = format!("{process}{}{process}", record("kernel", "kernel", XID));
    assert_eq!(found(&log), [("xid.79".to_owned(), Some("2026-11-29T12:05:23.000000Z".to_owned()))]);
    let pretty = |transport: &str| {
        format!(
            "{{\n\t\"_TRANSPORT\" : \"{transport}\",\n\t\"MESSAGE\" : \"{XID}\",\n\t\"PRIORITY\" : \"3\"\n}}\n"
        )
    };
    assert_eq!(codes(&format!("{}{}", pretty("stdout"), pretty("kernel"))), ["xid.79"]);
    assert_eq!(codes(&pretty("syslog")), [""; 0]);
}

#[test]
fn the_moment_is_the_carriers_where_the_line_tells_none() {
    let line = format!("2026-11-29T12:05:23.123456789Z stderr F [ 8123.442211] {XID}");
    assert_eq!(found(&line)[0].1.as_deref(), Some("2026-11-29T12:05:23.123456Z"));
    let line = format!(
        "{{\"__REALTIME_TIMESTAMP\":\"1795953923000000\",\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"{XID}\"}}"
    );
    assert_eq!(found(&line)[0].1.as_deref(), Some("2026-11-29T12:05:23.000000Z"));
}

#[test]
fn things_that_carry_each_other_without_end_are_left() {
    let deep = "x: ".repeat(5_000) + "[ 1.0] " + XID;
    assert_eq!(codes(&deep), [""; 0]);
    let deep = "> ".repeat(5_000) + XID;
    assert_eq!(codes(&deep), [""; 0]);
    let deep = "{\"result\":".repeat(5_000) + "\"NVRM: Xid\"" + &"}".repeat(5_000);
    assert_eq!(codes(&deep), [""; 0]);
}

#[test]
fn what_a_line_begins_with_over_and_over_fills_no_stack() {
    for begin in ["1:", "1: ", "gpu-01:", "a:1:", "> ", "\"x\",", "{\"log\":", "[1] ", "\x1b[1m", "1 kernel:"]
    {
        let log = format!("{}{XID}", begin.repeat(100_000));
        assert!(found(&log).len() <= 1, "{begin}");
        let _ = origins(log.as_bytes());
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(line in prop::collection::vec(any::<u8>(), 0..300)) {
        unwrapped(&line);
        origins(&line);
        let _ = record::field(&line, 0..line.len());
    }

    #[test]
    fn nothing_that_resembles_a_carrier_makes_it_panic(
        line in "(\\{\"(MESSAGE|log|_raw)\":|MESSAGE=|\"MESSAGE\" : |\"|> |n1: |[0-9TZ:.-]{1,20}[ ,\t])[ -~\t\n\"\\\\]{0,60}",
    ) {
        unwrapped(line.as_bytes());
        let end = line.find('\n').unwrap_or(line.len());
        let _ = record::field(line.as_bytes(), 0..end);
    }
}
