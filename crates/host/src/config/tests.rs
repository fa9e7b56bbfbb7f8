use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use triage_core::NodeName;

use super::*;

const SHIPPED: &str = include_str!("../../../../etc/triage.toml");

fn parse(text: &str) -> Result<Loaded, String> {
    Config::parse(text, Path::new("triage.toml")).map_err(|error| error.to_string())
}

#[test]
fn the_shipped_file_says_the_defaults() {
    let loaded = parse(SHIPPED).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.warnings, []);
}

/// A default that changed in the code alone is seen by the test above; a key that was added in the code alone by this.
#[test]
fn the_shipped_file_and_the_document_show_every_key() {
    let document = include_str!("../../../../docs/configuration.md");
    // The type's own debug form names every field; those that are renamed in the file carry a unit there.
    let renamed = [
        ("command_deadline", "command_deadline_ms"),
        ("prolog", "prolog_ms"),
        ("epilog", "epilog_ms"),
        ("healthcheck", "healthcheck_ms"),
        ("probe", "probe_ms"),
        ("finisher", "finisher_s"),
        ("mount", "mount_ms"),
        ("site_check", "site_check_ms"),
        ("site_checks", "site_checks_ms"),
        ("max_bytes", "max_kib"),
        ("head", "head_kib"),
        ("tail", "tail_mib"),
        ("deadline", "deadline_ms"),
    ];
    let debug = format!("{:#?}", Config::default());
    let fields = debug.lines().filter_map(|line| line.strip_prefix("        ")?.split_once(": "));
    let keys = fields
        .map(|(field, _)| renamed.iter().find(|(name, _)| *name == field).map_or(field, |(_, key)| *key));
    let keys: Vec<&str> = keys.filter(|key| !key.starts_with(' ')).collect();
    assert!(keys.len() >= 46, "{keys:?}");
    for key in keys {
        assert!(
            SHIPPED.lines().any(|line| line.trim_start_matches("# ").starts_with(&format!("{key} = "))),
            "etc/triage.toml lacks {key}"
        );
        assert!(document.contains(&format!("`{key}`")), "docs/configuration.md lacks {key}");
    }
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(parse("").unwrap().config, Config::default());
}

#[test]
fn an_unknown_key_is_a_warning_with_its_line_and_the_rest_holds() {
    let loaded =
        parse("[deadlines]\nprolog_ms = 500\nprologue_ms = 1\n\n[later.section]\nkey = [1, 2]\n").unwrap();
    assert_eq!(loaded.config.deadlines.prolog.as_millis(), 500);
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(
        warnings[0],
        "triage.toml:3:1: unknown key deadlines.prologue_ms is ignored: did you mean prolog_ms?"
    );
    assert!(warnings[1].starts_with("triage.toml:5:2: unknown key later is ignored: check its spelling"));
}

#[test]
fn a_wrong_value_is_an_error_with_place_key_and_remedy() {
    for (text, expected) in [
        (
            "[deadlines]\nprolog_ms = \"2s\"\n",
            "triage.toml:2:13: deadlines.prolog_ms: invalid type: string \"2s\", expected u64: write a whole number without quotes",
        ),
        (
            "# é\n[deadlines]\n  healthcheck_ms = 60000\n",
            "triage.toml:3:20: deadlines.healthcheck_ms: 60000 is out of bounds: write 1 to 58000",
        ),
        (
            "[deadlines]\nprolog_ms = -1\n",
            "triage.toml:2:13: deadlines.prolog_ms: invalid value: integer `-1`",
        ),
        ("[deadlines]\nprolog_ms = 0\n", "triage.toml:2:13: deadlines.prolog_ms: 0 is out of bounds"),
        (
            "[paths]\nstate = \"var/lib\"\n",
            "triage.toml:2:9: paths.state: \"var/lib\" is not absolute: begin the path with /",
        ),
        (
            "paths.state = 7\n",
            "triage.toml:1:15: paths.state: invalid type: integer `7`, expected a string: put the value in quotes",
        ),
        (
            "[kernel_log]\nsource = \"journal\"\n",
            "triage.toml:2:10: kernel_log.source: unknown variant `journal`, expected `kmsg` or `file`",
        ),
        ("[kernel_log]\nadmit_user_facility = \"no\"\n", "write true or false, without quotes"),
        (
            "[nvml]\nlibrary = \"../libnvidia-ml.so\"\n",
            "triage.toml:2:11: nvml.library: \"../libnvidia-ml.so\" names no library",
        ),
        ("ledger = 3\n", "triage.toml:1:10: ledger: invalid type: integer `3`"),
        ("[paths]\nstate = \"/a\n", "triage.toml:2:"),
        ("[paths]\nstate = \"/a\"\nstate = \"/b\"\n", "triage.toml:3:1: duplicate key"),
        ("[paths]\nstate = \"/a\\u0000b\"\n", "control character"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(expected), "for {text:?}\n  got: {error}\n  not: {expected}");
    }
}

#[test]
fn percent_n_becomes_the_node_in_every_path() {
    let text = "[paths]\nstate = \"/s/%n\"\nrun = \"/r/%n/%n\"\npolicy = \"/p/%n\"\ncatalog = \"/c/%n\"\nlibexec = \"/l/%n\"\n\
        [slurm]\nscontrol = \"/b/%n\"\nconf = \"/e/%n\"\n[kernel_log]\npath = \"/k/%n\"\n[nvml]\nlibrary = \"/n/%n\"\nscenario = \"/x/%n\"\n";
    let config = parse(text).unwrap().config.for_node(&NodeName::from("n7")).unwrap();
    assert_eq!(config.paths.run, Path::new("/r/n7/n7"));
    assert!(!format!("{config:?}").contains("%n"), "{config:?}");
}

#[test]
fn a_node_name_that_leaves_its_folder_is_refused() {
    for name in ["..", "a/b", "", "-n", "n\n"] {
        assert!(Config::default().for_node(&NodeName::from(name)).is_err(), "{name:?}");
    }
}

#[test]
fn what_is_no_readable_file_is_said_and_holds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(matches!(Config::load(&at("none")), Err(ConfigError::Missing { .. })));
    assert!(matches!(Config::load(folder.path()), Err(ConfigError::Unreadable { .. })));
    nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(Config::load(&at("fifo")), Err(ConfigError::Unreadable { .. })));
    fs::write(at("latin"), b"# caf\xe9\n").unwrap();
    fs::set_permissions(at("latin"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(Config::load(&at("latin")), Err(ConfigError::Unreadable { .. })));
    fs::write(at("huge"), vec![b'#'; 2 * 1024 * 1024]).unwrap();
    assert!(matches!(Config::load(&at("huge")), Err(ConfigError::Unreadable { .. })));
}

#[test]
fn root_does_not_take_orders_from_a_file_that_others_can_write() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root refuses such a file, and this is not root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("triage.toml");
    fs::write(&path, SHIPPED).unwrap();
    for (mode, fits) in [(0o644, true), (0o600, true), (0o664, false), (0o646, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(Config::load(&path).is_ok(), fits, "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::chown(&path, Some(1), None).unwrap();
    assert!(matches!(Config::load(&path), Err(ConfigError::Unsafe { .. })));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n|[\\[\\]=\".#]){0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_damaged_file_is_answered(cut in 0..SHIPPED.len(), noise in any::<char>()) {
        let cut = SHIPPED.floor_char_boundary(cut);
        let _ = parse(&format!("{}{noise}{}", &SHIPPED[..cut], &SHIPPED[cut..]));
        let _ = parse(&SHIPPED[..cut]);
    }
}

#[test]
fn a_rate_is_changed_by_name_and_a_misspelt_one_is_said() {
    let loaded = parse("[rates.link_flaps]\ncount = 3\n\n[rates.link_flap]\ncount = 3\n").unwrap();
    let rule = triage_core::serd::RULES.iter().find(|rule| rule.name == "link_flaps").unwrap();
    assert_eq!(loaded.config.rates.of(rule).unwrap().count, 3);
    let warned: Vec<(usize, &str)> =
        loaded.warnings.iter().map(|warning| (warning.line, warning.key.as_str())).collect();
    assert_eq!(warned, [(4, "rates.link_flap")]);
}

#[test]
fn a_rate_that_can_never_be_reached_is_refused() {
    for (text, place) in [
        ("count = 0\n", "triage.toml:6:1: rates.link_flaps.count: must be at least 1"),
        ("hours = 0\n", "triage.toml:6:1: rates.link_flaps.hours: must be at least 1"),
        ("count = 257\n", "triage.toml:6:1: rates.link_flaps.count: must be at most 256"),
    ] {
        let text = format!("[rates.disk_timeouts]\ncount = 3\n[checks.space]\n\n[rates.link_flaps]\n{text}");
        let error = parse(&text).unwrap_err();
        assert!(error.starts_with(place), "{error}");
    }
    let error = parse("[checks.space]\nthreshold = 90\n[checks.uptime]\nmode = \"act\"\nthreshold = -1\n");
    let error = error.unwrap_err();
    assert!(error.starts_with("triage.toml:5:1: checks.uptime.threshold: "), "{error}");
}

#[test]
fn a_value_of_the_wrong_kind_in_any_section_has_a_remedy() {
    for (text, remedy) in [
        ("[expect]\nmounts = [\"/scratch\"]\n", "expected struct ExpectMount: write { path = \"/scratch\" }"),
        ("[expect]\nnics = [\"mlx5_0\"]\n", "expected struct ExpectNic: write { name = \"mlx5_0\" }"),
        ("[expect]\nservices = \"sshd\"\n", "write a list"),
        ("[expect]\nnics = [{ name = \"a\", rate_gbps = \"400\" }]\n", "write a whole number"),
        ("[checks.space]\nbad_for_s = \"60\"\n", "write a whole number"),
        ("[checks.space]\nthreshold = \"90\"\n", "write a number"),
        ("[rates.link_flaps]\ncount = \"3\"\n", "write a whole number"),
        ("[deadlines]\nprolog_ms = 2000s\n", "a number without a unit"),
        ("[paths]\nstate = \"/a\"\nstate = \"/b\"\n", "duplicate key `state`"),
        ("checks = 7\n", "begin the section with its name in brackets"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(remedy), "for {text:?}\n  got: {error}\n  not: {remedy}");
    }
}

/// What has no effect, or another one than its author meant, is said wherever it stands.
#[test]
fn what_surely_means_something_else_is_a_warning_with_its_place() {
    for (text, warning) in [
        (
            "[checks.space]\nthreshold = 950\n",
            "2:1: checks.space.threshold: 950 is never reached: the unit is % used",
        ),
        (
            "[checks.gpu_count]\nthreshold = 8\n",
            "2:1: checks.gpu_count.threshold: this check has no threshold",
        ),
        ("[checks.space]\nwhere = []\n", "2:1: checks.space.where: it runs nowhere"),
        (
            "[expect]\nmodules = [\"nvidia\", \"nvidai\"]\n",
            "2:22: expect.modules.1: module nvidai is not looked for",
        ),
        (
            "[expect]\nnics = [{ name = \"a\", state = \"active\" }]\n",
            "2:23: expect.nics.0.state: no state of a link: write \"up\" or \"down\"",
        ),
        ("[expect.on.\"n[1-4\"]\ngpus = 8\n", "1:12: expect.on.n[1-4: \"n[1-4\" is no list of nodes"),
        ("[expect.on.n1]\nmodules = [\"x\"]\n", "2:12: expect.on.n1.modules.0: module x"),
        ("[metrics]\ntextfile = \"/var/x.txt\"\n", "2:1: metrics.textfile: node_exporter reads only"),
        (
            "[rates.link_flap]\ncount = 3\n",
            "1:8: unknown key rates.link_flap is ignored: did you mean link_flaps?",
        ),
        ("[rates.zzzzz]\ncount = 3\n", "check its spelling against docs/faults.md"),
        ("[checks.zzzzz]\nenabled = false\n", "check its spelling against docs/checks.md"),
        ("[checks.spaec]\nenabled = false\n", "did you mean space?"),
    ] {
        let warnings: Vec<String> = parse(text).unwrap().warnings.iter().map(ToString::to_string).collect();
        assert!(
            matches!(&warnings[..], [told] if told.contains(warning)),
            "for {text:?}\n  got: {warnings:?}\n  not: {warning}"
        );
    }
    let fine = "[checks.disk_smart]\nthreshold = 150\n[checks.\"site.nhc\"]\nthreshold = 5\n[metrics]\ntextfile = \"/var/x.prom\"\n\
                [expect]\nnics = [{ name = \"a\", state = \"down\" }]\nmodules = [\"gdrdrv\"]\n";
    assert_eq!(parse(fine).unwrap().warnings, []);
}
