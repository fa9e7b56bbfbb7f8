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
        .says("no code of the catalogue matches \"xid.79x\"")
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
    node.run(&["policy", "test", "no.such_code"])
        .expect(3)
        .says("neither a code of the catalogue nor a folder");
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
