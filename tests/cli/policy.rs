//! `policy`: tells whether a policy can be used, what it makes of a fault, and what it would have made of the past.
use crate::support::*;

/// Writes a file into the node's folder; its path.
fn write(node: &Node, name: &str, text: &str) -> String {
    node.write(name, text);
    node.path(name).display().to_string()
}

fn node() -> Node {
    let node = Node::with(all_is_well);
    node.policy("monitor");
    node
}

#[test]
fn a_policy_that_can_be_used_is_said_to_be_one() {
    let node = node();
    let path = write(&node, "new.toml", include_str!("../../etc/policy.toml"));
    node.run(&["policy", "check", &path]).expect(0).says("nothing to complain about");
    let json = node.run(&["--json", "policy", "check", &path]).expect(0).json();
    assert_eq!((&json["usable"], &json["rules"]), (&true.into(), &4.into()));
}

#[test]
fn a_slip_is_told_with_its_place_and_the_word_that_was_meant() {
    let node = node();
    let path = write(&node, "new.toml", "version = 1\n\n[brake]\nmax_node = 3\n");
    node.run(&["policy", "check", &path]).expect(1).says(":4:1: ").says("did you mean \"max_nodes\"?");
    let path = write(&node, "new.toml", "version = 1\n[[rule]]\nname = \"r\"\nnode = \"reboot\"\n");
    node.run(&["policy", "check", &path]).expect(1).says(":2:").says("reboot_when_idle");
    node.run(&["policy", "check", "/nonexistent.toml"]).expect(1).says("/nonexistent.toml");
}

#[test]
fn only_the_policy_that_holds_is_said_to_hold_everything_back() {
    let node = node();
    let broken = "version = 1\n[brake]\nmax_node = 3\n";
    let other = write(&node, "new.toml", broken);
    node.run(&["policy", "check", &other]).expect(1).does_not_say("only written down");
    node.write("policy.toml", broken);
    node.run(&["policy", "check"]).expect(1).says("only written down until it is mended");
    node.run(&["policy", "test", "xid.79"]).says("only written down until it is mended");
}

#[test]
fn a_rule_that_says_down_is_told_as_a_drain_and_a_down() {
    let node = node();
    let text = |mode: &str| format!("version = 1\n[mode]\n{mode}\n[[rule]]\nname = \"r\"\nnode = \"down\"\n");
    let path = write(&node, "new.toml", &text("default = \"act\""));
    node.run(&["policy", "test", "xid.79", "--policy", &path])
        .expect(0)
        .says("node n1: drain by rule r, every gate lets it through")
        .says("node n1: down by rule r, every gate lets it through");
    node.run(&["policy", "check", &path]).does_not_say("goes by way of a drain");
    let path = write(&node, "new.toml", &text("down = \"act\""));
    node.run(&["policy", "check", &path]).expect(1).says("goes by way of a drain");
}

#[test]
fn every_test_that_the_document_names_for_an_incident_is_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/policy.md")).unwrap();
    let table = text.split_once("## What went wrong elsewhere").unwrap().1;
    let rows: Vec<&str> =
        table.lines().filter(|line| line.starts_with("| ") && line.contains(".rs`: ")).collect();
    assert!(rows.len() > 25, "{}", rows.len());
    for row in rows {
        let words: Vec<&str> = row.rsplit_once("| `").unwrap().1.split('`').step_by(2).collect();
        let mut source = String::new();
        for word in words.into_iter().filter(|word| !word.trim_matches([' ', '|']).is_empty()) {
            if word.ends_with(".rs") {
                source = std::fs::read_to_string(root.join(word)).unwrap();
            } else {
                assert!(source.contains(&format!("fn {word}(")), "{word} of\n{row}");
            }
        }
    }
}

#[test]
fn what_never_has_an_effect_is_told() {
    let node = node();
    let path = write(
        &node,
        "new.toml",
        "version = 1\n[[rule]]\nname = \"all\"\n[[rule]]\nname = \"late\"\ncode = [\"xid.79x\"]\nmode = \"act\"\n",
    );
    node.run(&["policy", "check", &path])
        .expect(1)
        .says("rule \"late\" is never reached: \"all\" before it matches everything")
        .says("no code matches \"xid.79x\"")
        .says("has no effect while [mode] says monitor");
}

#[test]
fn a_code_is_answered_with_its_rule_and_every_gate() {
    let node = node();
    node.run(&["policy", "test", "xid.79"])
        .expect(0)
        .says("node n1: drain by rule hardware-confirmed, held by mode")
        .says("the job: requeue by rule hardware-confirmed, held by mode");
    let acting = "version = 1\n[mode]\ndefault = \"act\"\n[except]\nusers = [\"root\"]\n[[rule]]\nname = \"night\"\n\
                  hours = [\"08-20\"]\npartition = [\"gpu*\"]\nnode = \"drain\"\njob = \"requeue\"\n";
    let path = write(&node, "new.toml", acting);
    let test = ["--json", "policy", "test", "xid.79", "--policy", &path];
    let asked = |more: &[&str]| node.run(&[&test[..], more].concat()).expect(0).json();
    let drain = &asked(&["--partition", "gpu-a", "--user", "ada"])["answers"][0]["decisions"][0];
    assert_eq!((&drain["rule"], &drain["allowed"]), (&"night".into(), &true.into()), "{drain}");
    let requeue = &asked(&["--partition", "gpu-a", "--user", "root"])["answers"][0]["decisions"][1];
    assert_eq!(requeue["held_by"], "exception", "{requeue}");
    let elsewhere = &asked(&["--partition", "cpu"])["answers"][0]["decisions"][0];
    assert_eq!(elsewhere["rule"], "no rule matched", "{elsewhere}");
    node.run(&["policy", "test", "no.such_code"]).expect(3).says("neither a code nor a folder");
}

#[test]
fn a_policy_that_is_not_there_is_not_approved() {
    let node = Node::with(all_is_well);
    node.run(&["policy", "check"])
        .expect(1)
        .says("policy.toml: not there, though [paths] policy of triage.toml names it")
        .does_not_say("nothing to complain about");
    assert_eq!(node.run(&["--json", "policy", "check"]).expect(1).json()["present"], false);
    node.run(&["policy", "test", "xid.79"])
        .expect(0)
        .says("policy.toml: not there; the shipped rules are tried");
    for command in [&["--json", "policy", "test", "xid.79"][..], &["--json", "policy", "replay"]] {
        assert_eq!(node.run(command).expect(0).json()["present"], false, "{command:?}");
    }
    node.policy("monitor");
    assert_eq!(node.run(&["--json", "policy", "test", "xid.79"]).json()["present"], true);
    node.run(&["policy", "test", "xid.79"]).expect(0).does_not_say("not there");
}

#[test]
fn every_code_that_a_case_can_have_is_one_that_a_rule_can_name() {
    let node = node();
    let checks = triage_core::checks::ALL.iter().map(triage_core::checks::Check::code);
    let rates = triage_core::serd::RULES.iter().map(triage_core::serd::Rule::code);
    let mut codes: Vec<String> = checks.chain(rates).collect();
    codes.extend(triage_core::sweep::codes().map(|(code, ..)| code.to_owned()));
    codes.extend(
        ["site.nhc", "site.*", "check.*", "rate.*", "xid.79", "task.exit", "unknown"].map(str::to_owned),
    );
    let policy =
        format!("version = 1\n[[rule]]\nname = \"r\"\ncode = {codes:?}\n[[rule]]\nname = \"rest\"\n");
    let path = write(&node, "new.toml", &policy);
    node.run(&["policy", "check", &path]).expect(0).says("2 rules, nothing to complain about");
    let names: Vec<&str> = codes.iter().map(String::as_str).filter(|code| !code.contains('*')).collect();
    let json = node.run(&[&["--json", "policy", "test"], &names[..]].concat()).expect(0).json();
    assert_eq!(json["answers"].as_array().unwrap().len(), names.len());
}

#[test]
fn what_the_site_says_of_a_check_holds_in_a_test_as_well() {
    let node = node();
    node.run(&["policy", "test", "check.gpu_count"])
        .says("asks for reboot")
        .says("drain by rule hardware-confirmed");
    node.run(&["policy", "test", "check.space"]).says("asks for watch").does_not_say(": drain by rule");
    node.configure(
        "[nvml]",
        "[checks.gpu_count]\nmode = \"monitor\"\n[checks.space]\naction = \"drain\"\n[nvml]",
    );
    node.run(&["policy", "test", "check.gpu_count"])
        .says("held   check: [checks.gpu_count] mode = \"monitor\"");
    node.run(&["policy", "test", "check.space"]).says(": drain by rule");
}

#[test]
fn a_word_that_is_no_code_is_answered_with_the_code_that_was_meant() {
    let node = node();
    for (word, meant) in [
        ("79", "did you mean xid.79?"),
        ("XID.79", "did you mean xid.79?"),
        ("xid.7l", "did you mean xid.7"),
        ("gpu_count", "did you mean check.gpu_count?"),
        ("check.gpu_cuont", "did you mean check.gpu_count?"),
        ("gpu.off_bus", "that is a fault, and a rule names codes, such as xid."),
        ("gpu.corrected", "rate.gpu_corrected"),
        ("zzzzzz", "`slurm-triage scan` tells the codes of a log"),
    ] {
        node.run(&["policy", "test", word]).expect(3).says("neither a code nor a folder: ").says(meant);
    }
    let path = write(&node, "new.toml", "version = 1\n[[rule]]\nname = \"r\"\ncode = [\"nic.flapping\"]\n");
    node.run(&["policy", "check", &path]).expect(1).says("such as rate.link_flaps");
}

#[test]
fn what_keeps_a_policy_from_ever_acting_is_told_and_what_is_shipped_is_not() {
    let node = node();
    let rest = "[[rule]]\nname = \"rest\"\n";
    for (text, told) in [
        ("[brake]\nmax_nodes = 0\n", "max_nodes = 0: no node is ever drained"),
        ("[brake]\nmax_share = 0\nmin_nodes = 0\n", "max_share = 0 and min_nodes = 0"),
        ("[brake]\nmax_in_window = 0\n", "max_in_window = 0"),
        ("[brake]\nmax_per_switch = 0\n", "max_per_switch = 0"),
        ("[brake]\nmax_per_job = 0\n", "max_per_job = 0"),
        ("[brake]\nwindow_s = 0\n", "window_s = 0"),
        ("[job]\nmax_restarts = 0\n", "max_restarts = 0"),
        ("[job]\nsuspect_nodes = 1\n", "suspect_nodes"),
        ("[job]\nno_requeue_exit_codes = [93, 300]\n", "300 is never met"),
        ("[job]\nno_requeue_exit_codes = [-1]\n", "-1 is never met"),
        ("[node]\nleave_alone_states = [\"MAINTT\"]\n", "did you mean MAINT?"),
        ("[except]\nnodes = [\"*\"]\n", "nodes = [\"*\"]: no node is ever drained"),
        ("[except]\npartitions = [\"*\"]\n", "partitions = [\"*\"]"),
        ("[except]\naccounts = [\"*\"]\n", "accounts = [\"*\"]"),
        ("[except]\nusers = [\"*\"]\n", "users = [\"*\"]"),
        ("[[rule]]\nname = \"r\"\nresource = [\"gpu3\"]\n", "no resource is written \"gpu3\""),
        ("[[rule]]\nname = \"r\"\nresource = [\"GPU:*\"]\n", "write \"gpu:*\""),
        ("[[rule]]\nname = \"r\"\nresource = [\"gpu:61:00.0\"]\n", "write \"gpu:0000:61:00.0\""),
        (
            "[[rule]]\nname = \"r\"\nclass = [\"hardware\"]\njob = \"requeue\"\n",
            "[job] min_confidence holds it below probable",
        ),
    ] {
        let path = write(&node, "new.toml", &format!("version = 1\n{text}{rest}"));
        let json = node.run(&["--json", "policy", "check", &path]).expect(1).json();
        let warnings = json["warnings"].as_array().unwrap();
        assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains(told), "{text}: {json}");
        assert_eq!(json["usable"], true, "it can be used all the same: {text}");
    }
    // What says little is no mistake: small bounds, each look at the cluster, few words.
    let fine = "version = 1\n[brake]\nmax_nodes = 1\nmax_share = 0\nlook_again_s = 0\n[node]\nleave_alone_states = [\"MAINT\", \
                \"REBOOT\", \"POWERING_UP\"]\n[except]\nnodes = [\"login*\"]\n[[rule]]\nname = \"r\"\nresource = [\"*\", \"gpu:*\", \
                \"nic:mlx5_*\", \"host\", \"fs:/scratch\", \"gpu:3\", \"g*\"]\n";
    let path = write(&node, "new.toml", &format!("{fine}{rest}"));
    node.run(&["policy", "check", &path]).expect(0);
}

#[test]
fn what_a_test_does_not_know_can_be_told_by_an_option_that_it_names() {
    let node = node();
    let rule = |condition: &str| {
        format!(
            "version = 1\n[mode]\ndefault = \"act\"\n[[rule]]\nname = \"few\"\n{condition}\n[[rule]]\nname = \"all\"\nnode = \"drain\"\njob = \"requeue\"\n"
        )
    };
    for (condition, option) in [
        ("partition = [\"debug\"]", "--partition"),
        ("account = [\"a\"]", "--account"),
        ("qos = [\"q\"]", "--qos"),
        ("user = [\"u\"]", "--user"),
    ] {
        let path = write(&node, "new.toml", &rule(condition));
        node.run(&["policy", "test", "xid.79", "--policy", &path])
            .expect(0)
            .says("held by facts")
            .says(&format!("{option} NAME says it"));
        node.run(&["policy", "test", "xid.79", "--policy", &path, option, "x"]).does_not_say("NAME says it");
    }
}

/// A gate that is asked and stands in no table leaves who reads of it to guess.
#[test]
fn every_gate_has_its_row_in_the_documents() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    let documents = read(root.join("docs/policy.md")) + &read(root.join("docs/repair.md"));
    let mut gates = std::collections::BTreeSet::new();
    let decide = std::fs::read_dir(root.join("crates/core/src/decide")).unwrap();
    let sources = decide.map(|entry| entry.unwrap().path());
    for path in sources.chain([root.join("crates/core/src/fleet.rs")]) {
        let source = if path.is_file() { read(path).replace([' ', '\n'], "") } else { continue };
        for before in ["gate(\"", "NAME:&str=\"", "BRAKE:&str=\""] {
            let named = source.split(before).skip(1).filter_map(|rest| rest.split('"').next());
            gates.extend(named.map(str::to_owned));
        }
    }
    assert!(gates.len() > 25 && gates.contains("brake") && gates.contains("drill"), "{gates:?}");
    for gate in gates {
        let row = documents.lines().any(|line| {
            line.split_once(" | ")
                .is_some_and(|(first, _)| first.starts_with("| ") && first.contains(&format!("`{gate}`")))
        });
        assert!(row, "no row for the gate {gate} in docs/policy.md or docs/repair.md");
    }
}

#[test]
fn the_policy_that_holds_is_shown_also_when_it_is_broken() {
    let node = node();
    node.run(&["policy", "show"])
        .expect(0)
        .says("drain: monitor")
        .says("everything-else")
        .says("after a proven repair: monitor; reset a GPU: off");
    node.write("policy.toml", "version = 1\n[mode]\ndefault = \"acting\"\n");
    node.run(&["policy", "show"])
        .expect(1)
        .says("shipped rules hold, in monitor mode")
        .says("drain: monitor");
}

/// Every key of `[mode]`, by the word of whoever reads the file.
fn mode_keys(node: &Node) -> Vec<String> {
    let path = write(node, "new.toml", "version = 1\n[mode]\nno_such_key = \"act\"\n");
    let json = node.run(&["--json", "policy", "check", &path]).expect(1).json();
    let said = json["error"].as_str().unwrap().split_once("expected one of ").unwrap().1.to_owned();
    said.split('`').skip(1).step_by(2).map(str::to_owned).filter(|key| key != "default").collect()
}

#[test]
fn a_mode_that_the_policy_sets_and_the_page_leaves_out_would_hide_what_is_done() {
    let node = node();
    let keys = mode_keys(&node);
    assert!(keys.contains(&"down".to_owned()) && keys.len() > 3, "{keys:?}");
    for key in &keys {
        node.write("policy.toml", format!("version = 1\n[mode]\n{key} = \"act\"\n"));
        let mut shown = node.run(&["policy", "show"]).expect(0);
        let status = node.run(&["--json", "status"]).json();
        for other in &keys {
            let mode = if other == key { "act" } else { "monitor" };
            shown = shown.says(&format!("  {other}: {mode}\n"));
            assert_eq!(status["policy"]["mode"][other], mode, "{other} with {key} = act: {status}");
        }
    }
}

#[test]
fn a_stricter_policy_over_the_past_is_told_as_the_difference_it_makes() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    node.policy("monitor");
    let path = write(&node, "new.toml", "version = 1\n[[rule]]\nname = \"only-notes\"\n");
    let replay = ["policy", "replay", "--since", "2020-01-01T00:00:00Z", "--policy", &path];
    node.run(&replay).expect(0).says("only-notes").says("Decided otherwise");
    let json = node.run(&[&["--json"], &replay[..]].concat()).expect(0).json();
    assert!(json["cases"].as_u64().unwrap_or(0) > 0, "{json}");
    let difference = &json["differences"][0];
    assert_eq!(difference["now"]["rule"], "only-notes", "{json}");
    assert_eq!(difference["now"]["intent"], "note");
}

/// A case and its verdict, and what was decided about both.
fn decided(gates_of_node: Vec<triage_core::Gate>, gates_of_job: Vec<triage_core::Gate>) -> Node {
    let node = Node::with(|ledger| {
        let Tale { line, event, case, span, verdict } = tale();
        let at = T0.plus_secs(1_801);
        let drain = node_decision(&case, triage_core::Intent::Drain, at, gates_of_node);
        let requeue = run_decision(&verdict, triage_core::Intent::Requeue, at, gates_of_job);
        Rows {
            observations: vec![line],
            events: vec![event],
            cases: vec![case],
            verdicts: vec![verdict],
            decisions: vec![drain, requeue],
            spans: vec![span],
            ..Rows::default()
        }
        .write(ledger, at);
    });
    node.policy("act");
    node
}

/// Rule, intent and gate of both decisions, as they differ under this policy; nothing where they do not.
fn replayed(node: &Node, except: &str) -> Vec<(String, String, serde_json::Value)> {
    let policy = triage_core::policy::DEFAULT_POLICY.replace("default = \"monitor\"", "default = \"act\"");
    let policy =
        policy.lines().filter(|line| !line.starts_with("partitions = ") && !line.starts_with("accounts = "));
    let policy: Vec<String> =
        policy.map(|line| line.replace("[except]", &format!("[except]\n{except}"))).collect();
    let path = write(node, "new.toml", &policy.join("\n"));
    let replay = ["--json", "policy", "replay", "--since", "2026-03-01", "--policy", &path];
    let json = node.run(&replay).expect(0).json();
    assert_eq!((&json["cases"], &json["verdicts"]), (&1.into(), &1.into()), "{json}");
    let told = |one: &serde_json::Value| {
        let subject = one["subject"].as_str().unwrap().split(' ').next().unwrap().to_owned();
        (subject, one["now"]["intent"].as_str().unwrap().to_owned(), one["now"]["held_by"].clone())
    };
    json["differences"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn a_replay_of_the_policy_of_then_finds_no_difference_whatever_held_it() {
    assert!(triage_core::policy::DEFAULT_POLICY.contains("[except]"));
    let nothing: &[(String, String, serde_json::Value)] = &[];
    let passed = || vec![gate("mode", true, "")];
    assert_eq!(replayed(&decided(passed(), passed()), ""), nothing);
    for name in ["operator_hold", "stand_down", "foreign_reason", "reservation", "check", "brake"] {
        let node = decided(vec![gate(name, false, "so it was"), gate("mode", true, "")], passed());
        assert_eq!(replayed(&node, ""), nothing, "{name}");
    }
    for name in ["operator_hold", "requeue_allowed", "job_state", "drill"] {
        let node = decided(passed(), vec![gate(name, false, "so it was"), gate("mode", true, "")]);
        assert_eq!(replayed(&node, ""), nothing, "{name}");
    }
}

#[test]
fn what_the_ledger_does_not_tell_is_not_taken_as_excepted_in_a_replay_unless_it_was() {
    let (passed, excepted) =
        (|| vec![gate("mode", true, "")], || vec![gate("exception", false, "on a list")]);
    let held = |subject: &str, intent: &str| (subject.to_owned(), intent.to_owned(), "exception".into());
    // Jobs of the partition gpu ran on the node, and nobody's account is known.
    let other = "partitions = [\"debug\"]\naccounts = [\"guests\"]\n";
    assert_eq!(replayed(&decided(passed(), passed()), other), []);
    assert_eq!(replayed(&decided(excepted(), excepted()), other), []);
    // A list that has what is known holds now.
    let mine = "partitions = [\"gpu\"]\n";
    let now = replayed(&decided(passed(), passed()), mine);
    assert_eq!(now, [held("node", "drain"), held("job", "requeue")]);
}

#[test]
fn a_node_on_probation_is_one_in_a_replay_too() {
    use triage_core::{Action, Confidence};
    let node = Node::with(|ledger| {
        let Tale { line, event, case, .. } = tale();
        let case = triage_core::Case { confidence: Confidence::Probable, ..case };
        let at = T0.plus_secs(1_801);
        let drain = node_decision(&case, triage_core::Intent::Drain, at, vec![gate("mode", true, "")]);
        let resume = triage_ledger::NewIntent {
            action: Action::Resume {
                node: case.node.clone(),
                case: case.id.clone(),
                from_down: false,
                decision: drain.id.clone(),
            },
            expires: at.plus_secs(600),
            synthetic: false,
        };
        let intents = vec![resume.clone()];
        Rows { intents, ..Rows::default() }.write(ledger, T0);
        settle(ledger, &resume, T0.plus_secs(1), true, false, "lifted");
        let (observations, events) = (vec![line], vec![event]);
        Rows { observations, events, cases: vec![case], decisions: vec![drain], ..Rows::default() }
            .write(ledger, at);
    });
    node.policy("act");
    let json = node.run(&["--json", "policy", "replay", "--since", "2026-03-01"]).expect(0).json();
    assert_eq!(json["differences"].as_array().unwrap().len(), 0, "{json}");
}

/// The README shows what the program prints.
#[test]
fn the_sample_in_the_readme_is_what_why_prints() {
    let readme =
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let sample = readme.split_once("$ slurm-triage why 4711\n").unwrap().1.split_once("```").unwrap().0;
    let out = Node::with(a_gpu_dies_and_it_is_seen_to).run(&["why", "4711"]).out;
    let mut rest = out.as_str();
    for line in sample.lines().filter(|line| *line != "..." && !line.is_empty()) {
        rest = rest.split_once(&format!("{line}\n")).unwrap_or_else(|| panic!("no \"{line}\" in\n{rest}")).1;
    }
}
