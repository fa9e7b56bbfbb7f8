//! `doctor`: a node that is set up well, and everything that can be wrong with one.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::*;

/// What the controller of a cluster that is set up well says.
const CONFIG: &str = "Configuration data as of 2026-03-01T10:00:00\n\
    Epilog                  = DIR/libexec/triage-epilog\n\
    HealthCheckInterval     = 60 sec\n\
    HealthCheckNodeState    = CYCLE,ANY\n\
    HealthCheckProgram      = DIR/wrapper\n\
    JobRequeue              = 1\n\
    PlugStackConfig         = DIR/plugstack.conf\n\
    Prolog                  = DIR/libexec/triage-prolog\n\
    PrologEpilogTimeout     = 65534\n\
    PrologFlags             = Alloc\n\
    SchedulerParameters     = bf_continue,nohold_on_prolog_fail\n\
    SLURM_CONF              = DIR/slurm.conf\n\
    Slurmctld(primary) at head is UP\n";

/// A node on which nothing is to be mended.
fn sound() -> Node {
    let node = Node::with(all_is_well);
    node.policy("monitor");
    node.configure("\"kmsg\"", "\"file\"");
    node.configure("\"always\"", "\"never\"");
    node.write("kern.log", "");
    for name in ["triage-prolog", "triage-epilog", "triage-healthcheck", "triage-probe"] {
        node.script(&format!("libexec/{name}"), "#!/bin/sh\n");
    }
    node.script("wrapper", "#!/bin/sh\nexec /x/triage-healthcheck --config /y\n");
    node.write("libexec/spank_triage.so", plugin(22, 5));
    let dir = node.dir();
    node.write("plugstack.conf", format!("include {dir}/plugstack.d/*\n"));
    node.write(
        "plugstack.d/triage.conf",
        format!("optional {dir}/libexec/spank_triage.so spool={dir}/run/spool\n"),
    );
    node.write("config", CONFIG.replace("DIR", &dir));
    node.script(
        "scontrol",
        &format!("#!/bin/sh\ncase $1 in\n-V) echo slurm-wlm 22.05.8 ;;\nshow) cat {dir}/config ;;\nesac\n"),
    );
    fs::create_dir_all(node.path("run/spool")).unwrap();
    mode(&node, "run/spool", 0o700);
    node
}

fn mode(node: &Node, path: &str, mode: u32) {
    fs::set_permissions(node.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// A library that is no more than its `plugin_version`.
fn plugin(major: u32, minor: u32) -> Vec<u8> {
    let mut file = vec![0_u8; 0x200];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01");
    put(32, &0x40_u64.to_le_bytes());
    put(40, &0x100_u64.to_le_bytes());
    for (at, number) in [(54, 56_u16), (56, 1), (58, 64), (60, 3), (0xa0 + 30, 1)] {
        put(at, &number.to_le_bytes());
    }
    for (at, number) in
        [(0x40, 1_u32), (0xa0 + 24, 1), (0xf0, major << 16 | minor << 8), (0x144, 11), (0x168, 2)]
    {
        put(at, &number.to_le_bytes());
    }
    let addresses = [
        (0x48, 0x80_u64),
        (0x50, 0x1000),
        (0x60, 0x80),
        (0xc0, 0x1070),
        (0xc8, 4),
        (0x158, 0xa0),
        (0x160, 48),
        (0x198, 0x80),
        (0x1a0, 0x10),
    ];
    for (at, number) in addresses {
        put(at, &number.to_le_bytes());
    }
    put(0x80, b"\0plugin_version\0");
    file
}

/// What is to be mended, as `part level what remedy`.
fn findings(node: &Node, args: &[&str]) -> Vec<String> {
    let answer = node.run(&[&["--json", "doctor"], args].concat());
    let document = node.scrubbed(&answer);
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let all = document["findings"].as_array().unwrap();
    let bad = all.iter().filter(|finding| matches!(finding["level"].as_str(), Some("warn" | "fail")));
    let told: Vec<String> =
        bad.map(|f| ["part", "level", "what", "remedy"].map(|key| text(f, key)).join(" ")).collect();
    assert_eq!(answer.status, i32::from(!told.is_empty()), "{told:#?}");
    assert_eq!(document["well"], told.is_empty());
    told
}

/// One thing is to be mended, and it is this.
#[track_caller]
fn only(node: &Node, args: &[&str], says: &[&str]) {
    let told = findings(node, args);
    assert!(told.len() == 1 && says.iter().all(|text| told[0].contains(text)), "{says:?} in {told:#?}");
}

/// Files that a test of another user makes are not root's, which is a finding of its own.
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[test]
fn a_node_that_is_set_up_well_has_nothing_to_mend() {
    if !is_root() {
        return;
    }
    let node = sound();
    assert_eq!(findings(&node, &[]), Vec::<String>::new());
    let document = node.scrubbed(&node.run(&["--json", "doctor"]).expect(0));
    let all = document["findings"].as_array().unwrap();
    // The clock tells the time, the catalogue how much it knows.
    let same = all.iter().filter(|finding| !matches!(finding["part"].as_str(), Some("clock" | "catalog")));
    let told: Vec<String> =
        same.map(|f| ["level", "part", "what"].map(|key| f[key].as_str().unwrap()).join(" ")).collect();
    insta::assert_snapshot!(told.join("\n"));
    node.run(&["doctor"]).expect(0).says("ok    config     ").says("n1: nothing to mend");
}

#[test]
fn checks_can_be_made_one_by_one_and_without_the_controller() {
    if !is_root() {
        return;
    }
    let node = sound();
    let dir = node.dir();
    node.write("slurm.conf", "");
    let elsewhere = format!("scontrol = \"/nonexistent/scontrol\"\nconf = \"{dir}/slurm.conf\"");
    node.configure(&format!("scontrol = \"{dir}/scontrol\""), &elsewhere);
    assert_eq!(findings(&node, &["--only", "slurm", "--offline"]), Vec::<String>::new());
    only(&node, &["--only", "slurm"], &["slurm fail /nonexistent/scontrol: no such program"]);
    only(&node, &["--only", "plugin", "--offline"], &["plugin fail", "no such program"]);
}

#[test]
fn a_key_nobody_knows_is_told_with_its_line() {
    if !is_root() {
        return;
    }
    let node = sound();
    node.configure("[slurm]", "[deadlines]\nprologue_ms = 5\n[slurm]");
    only(
        &node,
        &["--only", "config"],
        &["config warn", "triage.toml:8:1: unknown key deadlines.prologue_ms"],
    );
}

#[test]
fn a_broken_configuration_is_one_finding_and_the_other_checks_go_on() {
    if !is_root() {
        return;
    }
    let node = sound();
    node.write("triage.toml", "[paths]\nstate = 5\n");
    let told = findings(&node, &["--offline"]);
    assert!(
        told.iter().any(|t| t.starts_with("config fail DIR/triage.toml:2:9: paths.state")
            && t.contains("monitor mode hold")),
        "{told:#?}"
    );
    assert!(told.iter().any(|t| t.starts_with("paths fail /usr/lib/slurm-triage/")), "{told:#?}");
    fs::remove_file(node.path("triage.toml")).unwrap();
    only(&node, &["--only", "config"], &["config warn DIR/triage.toml: no such file"]);
}

#[test]
fn policy_and_catalogue_are_read_with_line_and_column() {
    if !is_root() {
        return;
    }
    let node = sound();
    node.write("policy.toml", "version = 1\n[[rule]]\nname = \"r\"\nnode = \"requeue\"\n");
    only(&node, &["--only", "policy"], &["policy fail DIR/policy.toml:2:1: rule 1 (\"r\")"]);
    node.write("catalog.d/a.toml", "[[code]]\ncode = \"xid.79\"\nremedy = \"x\"\n");
    only(
        &node,
        &["--only", "catalog"],
        &["catalog fail DIR/catalog.d/a.toml:1:1: \"xid.79\" changes an entry"],
    );
}

#[test]
fn a_repair_that_cannot_be_run_or_that_others_can_change_is_told() {
    if !is_root() {
        return;
    }
    let node = sound();
    let verify = |program: &str| {
        node.write(
            "policy.toml",
            format!("version = 1\n[[repair.verify]]\nname = \"diag\"\ncommand = [\"{program}\", \"-r\"]\n"),
        );
        findings(&node, &["--only", "policy"])
    };
    assert_eq!(verify("/bin/true"), Vec::<String>::new(), "a sound program is no finding");
    assert!(verify("/nonexistent").iter().any(|told| told.contains("no program that can be run")));
    node.write("tool", "#!/bin/sh\n");
    let tool = node.path("tool");
    let tool = tool.to_str().unwrap();
    mode(&node, "tool", 0o644);
    assert!(verify(tool).iter().any(|told| told.contains("no program that can be run")));
    mode(&node, "tool", 0o777);
    assert!(verify(tool).iter().any(|told| told.contains("others than root can change it")));
    assert!(verify("bin/true").iter().any(|told| told.contains("no absolute path")));
}

#[test]
fn what_others_than_root_can_change_is_told() {
    if !is_root() {
        return;
    }
    let node = sound();
    for (path, part) in [
        ("libexec/triage-prolog", "paths"),
        ("libexec", "paths"),
        ("state", "paths"),
        ("libexec/spank_triage.so", "plugin"),
    ] {
        let before = fs::metadata(node.path(path)).unwrap().permissions();
        mode(&node, path, 0o777);
        let told = findings(&node, &["--only", part]);
        let what = format!("{part} fail DIR/{path}: owner uid");
        assert!(
            told.iter().any(|t| t.starts_with(&what) && t.contains("0777") && t.contains("chmod go-w")),
            "{path}: {told:#?}"
        );
        fs::set_permissions(node.path(path), before).unwrap();
    }
    mode(&node, "run/spool", 0o755);
    assert!(
        findings(&node, &["--only", "paths"])
            .iter()
            .any(|t| t.contains("mode 0755 lets others than root in"))
    );
}

#[test]
fn programs_that_are_missing_or_cannot_be_run_are_told() {
    if !is_root() {
        return;
    }
    let node = sound();
    mode(&node, "libexec/triage-epilog", 0o644);
    only(&node, &["--only", "paths"], &["DIR/libexec/triage-epilog: mode 0644 does not let it be run"]);
    fs::remove_file(node.path("libexec/triage-epilog")).unwrap();
    only(&node, &["--only", "paths"], &["DIR/libexec/triage-epilog: no such program"]);
}

#[test]
fn hooks_that_slurm_does_not_run_are_told() {
    for (from, to, says) in [
        (
            "Prolog                  = DIR/libexec/triage-prolog",
            "Prolog = (null)",
            "slurm fail Prolog is not set",
        ),
        (
            "Epilog                  = DIR/libexec/triage-epilog",
            "Epilog[0] = /bin/true",
            "slurm fail Epilog=/bin/true does not run triage-epilog",
        ),
        (
            "HealthCheckProgram      = DIR/wrapper",
            "HealthCheckProgram = DIR/none",
            "slurm fail HealthCheckProgram=DIR/none does not run",
        ),
        ("= 60 sec", "= 0 sec", "slurm fail HealthCheckInterval is 0"),
        ("= CYCLE,ANY", "= IDLE", "slurm warn HealthCheckNodeState=IDLE leaves nodes out"),
        (",nohold_on_prolog_fail", "", "slurm warn SchedulerParameters lacks nohold_on_prolog_fail"),
        (
            "= 65534",
            "= 10",
            "slurm warn PrologEpilogTimeout=10 s ends a hook before its own deadline of 10000 ms (deadlines.epilog_ms)",
        ),
    ] {
        let node = sound();
        let config = CONFIG.replace(from, to).replace("DIR", &node.dir());
        node.write("config", config);
        only(&node, &["--only", "slurm"], &[says]);
    }
}

#[test]
fn a_second_prolog_beside_ours_is_fine() {
    let node = sound();
    let two = "Prolog[0] = /etc/site-prolog\nProlog[1]                  = DIR/libexec/triage-prolog";
    let config = CONFIG.replace("Prolog                  = DIR/libexec/triage-prolog", two);
    node.write("config", config.replace("DIR", &node.dir()));
    assert_eq!(findings(&node, &["--only", "slurm"]), Vec::<String>::new());
}

#[test]
fn a_controller_that_does_not_answer_is_told_and_not_waited_for() {
    let node = sound();
    node.configure("[slurm]", "[slurm]\ncommand_deadline_ms = 200");
    node.script("scontrol", "#!/bin/sh\nexec sleep 600\n");
    only(&node, &["--only", "slurm"], &["slurm fail DIR/scontrol: no answer within 200 ms", "--offline"]);
    node.script(
        "scontrol",
        "#!/bin/sh\necho 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2\nexit 1\n",
    );
    only(&node, &["--only", "slurm"], &["slurm fail the controller could not be reached"]);
}

#[test]
fn a_plugin_that_slurm_would_skip_is_told() {
    if !is_root() {
        return;
    }
    let node = sound();
    let check = ["--only", "plugin"];
    node.write("libexec/spank_triage.so", plugin(24, 11));
    only(
        &node,
        &check,
        &["plugin fail", "built for Slurm 24.11.0, but this is slurm-wlm 22.05.8: Slurm skips it"],
    );
    node.write("libexec/spank_triage.so", "not a library");
    only(&node, &check, &["plugin fail", "it holds no plugin_version"]);
    node.write("libexec/spank_triage.so", plugin(22, 5));
    node.script("scontrol", "#!/bin/sh\necho slurm\n");
    let told = findings(&node, &check);
    assert!(told.iter().any(|t| t.contains("\"slurm\", which is no version")), "{told:#?}");
}

#[test]
fn a_plugin_stack_that_does_not_load_it_right_is_told() {
    if !is_root() {
        return;
    }
    let node = sound();
    let check = ["--only", "plugin"];
    let line = |text: &str| {
        node.write("plugstack.d/triage.conf", text.replace("DIR", &node.dir()));
    };
    line("# nothing\n");
    only(
        &node,
        &check,
        &["plugin warn DIR/plugstack.conf: does not mention spank_triage.so", "optional DIR/libexec"],
    );
    line("required DIR/libexec/spank_triage.so spool=DIR/run/spool\n");
    only(
        &node,
        &check,
        &["plugin fail DIR/plugstack.d/triage.conf:1: the plugin is required", "slurmd does not start"],
    );
    line("\noptional DIR/gone/spank_triage.so spool=DIR/run/spool\n");
    only(
        &node,
        &check,
        &["plugin fail DIR/plugstack.d/triage.conf:2: DIR/gone/spank_triage.so is not there"],
    );
    line("optional DIR/libexec/spank_triage.so\n");
    only(
        &node,
        &check,
        &["plugin fail", "the plugin writes to /run/slurm-triage/spool, and the hooks read DIR/run/spool"],
    );
    line("optional DIR/libexec/spank_triage.so spool=DIR/%n/spool\n");
    only(&node, &check, &["the plugin writes to DIR/n1/spool"]);
}

#[test]
fn a_ledger_that_cannot_be_used_is_told() {
    let node = sound();
    fs::write(node.ledger(), "nothing like SQLite".repeat(100)).unwrap();
    only(&node, &["--only", "ledger"], &["ledger fail", "damaged", "copy it before that"]);
    fs::remove_dir_all(node.path("state")).unwrap();
    only(&node, &["--only", "ledger"], &["ledger warn", "there is no ledger yet"]);
    let idle = Node::with(|_| {});
    only(&idle, &["--only", "ledger"], &["ledger warn no health check ever"]);
}

#[test]
fn a_kernel_log_that_cannot_be_read_is_told() {
    let node = sound();
    fs::remove_file(node.path("kern.log")).unwrap();
    only(&node, &["--only", "kernel_log"], &["kernel_log fail DIR/kern.log: cannot be opened"]);
    fs::create_dir(node.path("kern.log")).unwrap();
    only(&node, &["--only", "kernel_log"], &["kernel_log fail DIR/kern.log"]);
}

#[test]
fn the_test_switch_of_the_kernel_log_is_told() {
    let node = sound();
    node.configure("[kernel_log]", "[kernel_log]\nadmit_user_facility = true");
    only(&node, &["--only", "kernel_log"], &["kernel_log warn admit_user_facility = true"]);
}

#[test]
fn gpus_are_asked_through_the_probe() {
    let node = sound();
    node.configure("enabled = \"never\"", "enabled = \"always\"");
    node.configure("[slurm]", "[deadlines]\nprobe_ms = 2000\n[slurm]");
    let probe = |text: &str| node.script("libexec/triage-probe", &format!("#!/bin/sh\n{text}\n"));
    let check = ["--only", "nvml"];
    probe(r#"echo '{"state":"ok","driver_version":"570.1","gpus":[{"index":0}]}'"#);
    assert_eq!(findings(&node, &check), Vec::<String>::new());
    probe(r#"echo '{"state":"ok","gpus":[{"index":0},{"index":5,"lost":true}]}'"#);
    only(&node, &check, &["nvml warn GPU 5 is lost"]);
    probe(r#"echo '{"state":"version_mismatch","detail":"18"}'"#);
    only(&node, &check, &["nvml fail library and kernel driver are of different versions: 18"]);
    probe("echo nonsense");
    only(&node, &check, &["nvml fail the probe's answer cannot be read"]);
    probe("exec sleep 600");
    only(&node, &check, &["nvml fail no answer within", "a GPU or its driver hangs"]);
}

#[test]
fn a_relative_path_leads_every_check_to_the_same_files() {
    if !is_root() {
        return;
    }
    let node = sound();
    // What the checks are told apart by: a state folder and a ledger that are not the default ones.
    for (config, ledger) in [("triage.toml", "state/ledger.db"), ("./run/../triage.toml", "none/ledger.db")] {
        let findings = |config: &str, ledger: &str| {
            let now = NOW.to_string();
            let args =
                ["--json", "--config", config, "--node", "n1", "--now", &now, "--ledger", ledger, "doctor"];
            let output = command(&args).current_dir(node.path("")).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let whole = |name: &str| node.path(name).display().to_string();
        let (relative, absolute) = (findings(config, ledger), findings(&whole(config), &whole(ledger)));
        let count = |text: &str| text.matches("\"level\"").count();
        assert!(count(&relative) > 10 && !relative.contains("no such file"), "{relative}");
        assert_eq!(count(&relative), count(&absolute), "{relative}\n{absolute}");
        assert_eq!(relative.contains("there is no ledger yet"), ledger.starts_with("none"), "{relative}");
    }
}

#[test]
fn a_topology_that_does_not_tell_the_switch_is_told_before_a_brake_needs_it() {
    let node = sound();
    let check = ["--only", "slurm"];
    let said = |text: &str| {
        node.run(&["doctor", "--only", "slurm"]).says(text);
    };
    node.write("topology.conf", "SwitchName=s1 Nodes=n[1-3]\n");
    assert_eq!(findings(&node, &check), Vec::<String>::new());
    said("n1 is below s1, with 3 nodes");
    node.write("topology.conf", "SwitchName=s1 Nodes=n[7-9]\n");
    assert_eq!(findings(&node, &check), Vec::<String>::new());
    said("names no switch for n1");
    for (name, text) in [
        ("topology.conf", "SwitchName=s1 Nodes=n[1-3\n"),
        ("topology.conf", "SwtichName=s1 Nodes=n[1-3]\n"),
        (
            "topology.yaml",
            "- topology: a\n  tree:\n    switches:\n      - swtich: s1\n        nodes: n[1-3]\n",
        ),
        (
            "topology.yaml",
            "- topology: a\n  tree:\n    switches:\n      - switch: s1\n        nodes: n[1-3\n",
        ),
    ] {
        node.write(name, text);
        let place = format!("slurm warn DIR/{name}:");
        only(&node, &check, &[&place, "max_per_switch"]);
        // Neither needs the controller to be found, nor hides what the controller has to say.
        node.configure("[slurm]", &format!("[slurm]\ntopology = \"{}/{name}\"", node.dir()));
        only(&node, &["--only", "slurm", "--offline"], &[&place]);
        node.configure(&format!("topology = \"{}/{name}\"\n", node.dir()), "");
    }
    node.configure("[slurm]", "[slurm]\ntopology = \"/nonexistent/topology.yaml\"");
    only(&node, &check, &["slurm warn [slurm] topology: /nonexistent/topology.yaml: no such file"]);
}

#[test]
fn a_slurm_conf_that_is_not_there_is_told_before_scontrol_waits_for_it() {
    let node = sound();
    let check = ["--only", "slurm"];
    node.script("scontrol", "#!/bin/sh\nexec sleep 600\n");
    node.configure("[slurm]", "[slurm]\nconf = \"/nonexistent/slurm.conf\"");
    only(
        &node,
        &check,
        &["slurm fail [slurm] conf: /nonexistent/slurm.conf: no such file", "correct [slurm] conf"],
    );
    node.configure("conf = \"/nonexistent/slurm.conf\"\n", "");
    node.script(
        "scontrol",
        "#!/bin/sh\necho 'scontrol: error: fetch_config: DNS SRV lookup failed\nscontrol: fatal: Could not establish a \
         configuration source' >&2\nexit 1\n",
    );
    only(&node, &check, &["slurm fail scontrol finds no slurm.conf", "[slurm] conf ="]);
}

#[test]
fn a_plugstack_that_is_offered_can_be_shared_by_all_nodes() {
    if !is_root() {
        return;
    }
    let node = sound();
    let check = ["--only", "plugin"];
    let line = |text: &str| node.write("plugstack.d/triage.conf", text.replace("DIR", &node.dir()));
    line("# nothing\n");
    only(&node, &check, &["optional DIR/libexec/spank_triage.so spool=DIR/run/spool in"]);
    node.configure(&format!("{}/run", node.dir()), &format!("{}/%n/run", node.dir()));
    only(&node, &check, &["optional DIR/libexec/spank_triage.so spool=DIR/%n/run/spool in"]);
    line("optional DIR/libexec/spank_triage.so\n");
    only(&node, &check, &["and the hooks read DIR/n1/run/spool spool=DIR/%n/run/spool behind"]);
    line("optional DIR/libexec/spank_triage.so spool=DIR/%n/run/spool\n");
    assert_eq!(findings(&node, &check), Vec::<String>::new());
}

#[test]
fn a_group_that_was_let_in_as_documented_is_no_fault() {
    if !is_root() {
        return;
    }
    let node = sound();
    std::os::unix::fs::chown(node.path("state"), None, Some(4_242)).unwrap();
    mode(&node, "state", 0o2770);
    assert_eq!(findings(&node, &["--only", "paths"]), Vec::<String>::new());
    node.run(&["doctor", "--only", "paths"])
        .expect(0)
        .says("group gid 4242 may write it")
        .says("operators.md");
    for bad in [0o2777, 0o772] {
        mode(&node, "state", bad);
        only(&node, &["--only", "paths"], &["paths fail DIR/state: owner uid 0, mode"]);
    }
    // Nowhere else: what lies there root runs.
    mode(&node, "state", 0o2770);
    mode(&node, "libexec", 0o775);
    only(&node, &["--only", "paths"], &["paths fail DIR/libexec"]);
}
