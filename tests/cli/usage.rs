//! The command line: what is wrong with it, help, pipes.
use std::io::Read;
use std::process::Stdio;

use crate::support::*;

#[test]
fn what_is_not_understood_ends_with_2_before_anything_is_read() {
    for args in [
        &[][..],
        &["nonsense"],
        &["events", "--since", "yesterday"],
        &["events", "--job", "4711.0x"],
        &["events", "--code", "xid 79"],
        &["events", "--limit", "0"],
        &["events", "--limit", "5", "--all"],
        &["why"],
        &["inject"],
        &["inject", "--code", "xid.79"],
        &["inject", "--code", "xid.79", "--gpu", "nowhere"],
        &["inject", "--end", "--act"],
        &["doctor", "--only", "weather"],
        &["--now", "noon", "status"],
    ] {
        let answer = run(args).expect(2);
        assert!(answer.out.is_empty() && !answer.err.is_empty(), "{args:?}: {}", answer.out);
    }
}

#[test]
fn every_subcommand_has_help_with_examples() {
    run(&["--help"]).expect(0).says("Exit status").says("Examples:");
    for command in [
        "status", "events", "cases", "jobs", "why", "doctor", "inject", "scan", "diagnose", "ack", "acquit",
        "hold", "release", "trail", "report", "parts", "baseline",
    ] {
        run(&[command, "--help"]).expect(0).says("Examples:").says(&format!("slurm-triage {command}"));
    }
    run(&["--version"]).expect(0).says("slurm-triage 0.");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let node = Node::with(|ledger| {
        let lines: Vec<_> = (0..2_000).map(|n| line(n, T0, &"z".repeat(500))).collect();
        let events = lines.iter().map(|line| event(line, "xid.79")).collect();
        Rows { observations: lines, events, ..Rows::default() }.write(ledger, T0);
    });
    for view in [&["events", "--all"][..], &["events", "--all", "--json"]] {
        let place = node.place(&NOW.to_string());
        let args: Vec<&str> = place.iter().map(String::as_str).chain(view.iter().copied()).collect();
        let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{view:?}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_configuration_that_cannot_be_used_says_where_and_what_holds_meanwhile() {
    let node = Node::with(all_is_well);
    node.write("triage.toml", "[ledger]\nretain_days = \"ninety\"\n");
    node.run(&["status"]).expect(3).says("triage.toml:2:15").says("--ledger /var/lib/slurm-triage/ledger.db");
    let missing = run(&["--config", "/nonexistent/triage.toml", "status"]).expect(3);
    assert!(missing.err.contains("/nonexistent/triage.toml: no such file"), "{}", missing.err);
}

#[test]
fn a_node_name_that_leads_out_of_a_folder_is_refused() {
    for name in ["../../etc", "a/b", "-x", "n1\n"] {
        run(&[
            "--config",
            &Node::new().path("triage.toml").display().to_string(),
            &format!("--node={name}"),
            "status",
        ])
        .expect(3)
        .says("cannot stand in a path");
    }
}

#[test]
fn the_node_is_told_by_slurmd_where_it_is_not_named() {
    let node = Node::with(all_is_well);
    let config = node.path("triage.toml").display().to_string();
    let output =
        command(&["--config", &config, "--json", "cases"]).env("SLURMD_NODENAME", "gpu-07").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"node\":\"gpu-07\""));
    let host = run(&["--config", &config, "--json", "cases"]).expect(0).json();
    assert!(!host["node"].as_str().unwrap().contains('.'));
}
