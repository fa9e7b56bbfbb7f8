//! What a scenario file may say, and what it is told when it says something else.
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const DOCUMENTATION: &str = include_str!("../../../../docs/nvml-sim.md");
const FUNCTIONS: &[&str] = &["nvmlInit_v2", "nvmlDeviceGetUUID"];

fn place() -> Place {
    Place { folder: "/nowhere".into(), node: "n1".to_owned(), modified: SystemTime::UNIX_EPOCH }
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(&format!("format = 1\n{text}"), &place(), FUNCTIONS)
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1000)
}

/// The fenced TOML blocks of the documentation that are about scenarios.
fn documented_examples() -> Vec<&'static str> {
    let blocks = DOCUMENTATION.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| !block.contains("[nvml]")).collect()
}

#[test]
fn the_documented_examples_are_scenarios() {
    let examples = documented_examples();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let head = if example.contains("format") { "" } else { "format = 1\n" };
        Scenario::parse(&format!("{head}{example}"), &place(), FUNCTIONS).unwrap();
    }
}

#[test]
fn every_key_of_a_gpu_is_documented() {
    for key in Overrides::KEYS {
        assert!(DOCUMENTATION.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn an_empty_scenario_is_eight_healthy_gpus_with_identities_of_their_own() {
    let scenario = parse("").unwrap();
    assert_eq!(scenario.present(now()), (0..8).collect::<Vec<_>>());
    let mut identities = Vec::new();
    for gpu in 0..8 {
        let values = scenario.values(gpu, now()).unwrap();
        assert_eq!(values.uuid.len(), "GPU-11111111-2222-3333-4444-555555555555".len());
        identities.extend([values.uuid, values.serial, values.pci.long()]);
    }
    let count = identities.len();
    identities.sort();
    identities.dedup();
    assert_eq!(identities.len(), count);
}

#[test]
fn identities_depend_on_the_node_and_on_nothing_else() {
    let uuid = |text: &str| parse(text).unwrap().values(0, now()).unwrap().uuid;
    assert_eq!(uuid(""), uuid("node = \"n1\""));
    assert_ne!(uuid(""), uuid("node = \"n2\""));
}

#[test]
fn one_gpu_overrides_the_defaults_of_all() {
    let scenario = parse(
        "gpus = 2\n[gpu_defaults]\ntemperature_c = 50\npower_w = 100\n[[gpu]]\nindex = 1\ntemperature_c = 60\npci = \"0001:02:03.0\"",
    )
    .unwrap();
    let (first, second) = (scenario.values(0, now()).unwrap(), scenario.values(1, now()).unwrap());
    assert_eq!((first.temperature_c, first.power_w.milliwatts()), (50, 100_000));
    assert_eq!((second.temperature_c, second.power_w.milliwatts()), (60, 100_000));
    assert_eq!(second.pci.long(), "00000001:02:03.0");
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let cases = [
        ("gups = 8", "line 2: unknown field `gups`"),
        ("gpus = 65", "gpus = 65: at most 64"),
        ("[[gpu]]\nindex = 8", "[[gpu]] with index 8"),
        ("[[gpu]]\nindex = 1\n[[gpu]]\nindex = 1", "two [[gpu]] with index 1"),
        ("[[gpu]]\nname = \"x\"", "without index"),
        ("[gpu_defaults]\nindex = 1", "gpu_defaults has no index"),
        ("[gpu_defaults]\ntemprature_c = 3", "line 3: unknown field `temprature_c`"),
        ("[gpu_defaults]\npower_w = -1", "no power in watts"),
        ("[gpu_defaults]\npower_w = nan", "no power in watts"),
        ("[gpu_defaults]\nserial = \"a\\u0000b\"", "serial must not contain NUL"),
        ("[gpu_defaults]\nnvlinks = 19", "nvlinks must be at most 18"),
        ("[gpu_defaults]\nnvlinks = 4\nnvlink = [{ link = 4 }]", "link 4 in nvlink"),
        ("[gpu_defaults]\npci = \"nonsense\"", "no PCI address"),
        ("[gpu_defaults]\nfabric_status = \"NVML_SUCCESS\"", "no NVML error known here"),
        ("[[fault]]\nkind = \"lots\"", "unknown variant `lots`"),
        ("[[fault]]\nkind = \"lost\"\ngpu = 8", "fault 1: there is no GPU 8"),
        ("[[fault]]\nkind = \"lost\"\ngpu = 1\ngpus = [2]", "gpu and gpus exclude"),
        ("[[fault]]\nkind = \"lost\"\ncount = 1", "no key count"),
        ("[[fault]]\nkind = \"error\"", "needs error"),
        ("[[fault]]\nkind = \"error\"\nerror = \"SUCCESS\"", "SUCCESS is no error"),
        ("[[fault]]\nkind = \"error\"\nerror = \"TIMEOUT\"\nfunction = \"nvmlNo\"", "no function \"nvmlNo\""),
        ("[[fault]]\nkind = \"set\"", "needs set"),
        ("[[fault]]\nkind = \"set\"\nset = { index = 1 }", "set has no index"),
        ("[[fault]]\nkind = \"set\"\nset = { nvlinks = 99 }", "nvlinks must be at most"),
        ("[[fault]]\nkind = \"hang\"\nhang_s = -1", "no length of time"),
        ("[[fault]]\nkind = \"hang\"\nafter_s = inf", "no length of time"),
        ("[[fault]]\nkind = \"lost\"\nat = 2026-03-01", "no time with an offset"),
        (
            "[[fault]]\nkind = \"lost\"\nat = 2026-03-01T10:00:00Z\nwhen_file = \"x\"",
            "at and when_file exclude",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(text).expect_err(text);
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let newer = Scenario::parse("format = 2", &place(), FUNCTIONS).unwrap_err();
    assert!(newer.contains("format 2 is not known"));
    assert!(Scenario::parse("", &place(), FUNCTIONS).unwrap_err().contains("missing field `format`"));
}

#[test]
fn a_fault_begins_and_ends_when_it_says() {
    let on = |keys: &str, at: u64| {
        let text = format!("start = 1970-01-01T00:01:40Z\n[[fault]]\nkind = \"lost\"\n{keys}");
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(at);
        parse(&text).unwrap().active(None, now).count() == 1
    };
    assert!(!on("", 99) && on("", 100) && on("", u64::from(u32::MAX)));
    assert!(!on("after_s = 30", 129) && on("after_s = 30", 130));
    assert!(on("for_s = 10", 109) && !on("for_s = 10", 110));
    assert!(!on("at = \"1970-01-01T01:03:20+01:00\"", 199) && on("at = \"1970-01-01T01:03:20+01:00\"", 200));
    assert!(!on("after_s = 1e18", u64::from(u32::MAX)));
}

#[test]
fn a_fault_of_a_file_begins_with_it_and_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place { folder: folder.path().to_owned(), ..place() };
    let text = "format = 1\n[[fault]]\nkind = \"lost\"\nwhen_file = \"break-%n\"\nuntil_file = \"repair-%n\"";
    let scenario = Scenario::parse(text, &place, FUNCTIONS).unwrap();
    let on = || scenario.active(None, SystemTime::now()).count() == 1;
    assert!(!on());
    std::fs::write(folder.path().join("break-n1"), "").unwrap();
    assert!(on());
    std::fs::write(folder.path().join("repair-n1"), "").unwrap();
    assert!(!on());
    std::fs::remove_file(folder.path().join("repair-n1")).unwrap();
    assert!(on());
    std::fs::remove_file(folder.path().join("break-n1")).unwrap();
    assert!(!on());
}

#[test]
fn faults_change_only_the_gpus_they_hit_and_add_up() {
    let scenario = parse(
        "[[fault]]\nkind = \"ecc\"\ngpu = 2\n[[fault]]\nkind = \"ecc\"\ngpus = [2, 3]\ncount = 4\n[[fault]]\nkind = \"remap_pending\"\ngpu = 2",
    )
    .unwrap();
    let errors = |gpu| scenario.values(gpu, now()).unwrap().ecc_uncorrected;
    assert_eq!((errors(1), errors(2), errors(3)), (0, 5, 4));
    let hit = scenario.values(2, now()).unwrap();
    assert!(hit.remap_pending && hit.remap_uncorrected == 1 && hit.ecc_uncorrected_aggregate == 5);
    assert_eq!(hit.recovery_action.number(), Some(1));
    assert_eq!(scenario.values(3, now()).unwrap().recovery_action.number(), Some(0));
}

#[test]
fn huge_counts_do_not_overflow() {
    let max = i64::MAX;
    let scenario = parse(&format!(
        "[gpu_defaults]\necc_corrected = {max}\nmemory_used_mib = {max}\n[[fault]]\nkind = \"ecc\"\ncorrected = true\ncount = {max}\n[[fault]]\nkind = \"ecc\"\ncorrected = true\ncount = {max}"
    ))
    .unwrap();
    let values = scenario.values(0, now()).unwrap();
    assert_eq!((values.ecc_corrected, values.memory_used()), (u64::MAX, u64::MAX));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_fault_makes_the_reader_panic(
        kind in "lost|absent|ecc|remap_pending|remap_failed|set|error|hang",
        keys in proptest::collection::vec(("gpu|gpus|at|after_s|for_s|function|error|hang_s|count|set", "-?[0-9]{1,20}|\"[a-z%]{0,5}\"|nan|inf|\\[\\]|\\{\\}"), 0..4),
        seconds in any::<u32>(),
    ) {
        let keys: String = keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        if let Ok(scenario) = parse(&format!("[[fault]]\nkind = \"{kind}\"\n{keys}")) {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
            scenario.present(now);
            prop_assert!(scenario.values(7, now).is_some());
        }
    }
}
