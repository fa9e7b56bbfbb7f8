//! What is written is read again as it was: over a case of its own, and over whatever incidents lie beside the workspace.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use triage_bundle::{Bundle, Content, OutputText, Redactor, Report, WriteError, explain, read, write};
use triage_core::attribute::{JobEvidence, NodeEvidence, PastCulprit, PastRun, RunFacts};
use triage_core::catalog::Catalog;
use triage_core::policy::Policy;
use triage_core::reading::{GpuReading, NvmlReading, NvmlState};
use triage_core::{
    ExitStatus, JobAsk, NodeName, Observation, Payload, Provenance, Resource, SourceKind, Stamp, TaskEdge,
    TaskWhat,
};

const START: Stamp = Stamp::from_secs(1_772_359_200);

fn events(catalog: &Catalog, lines: &[(SourceKind, i64, &str)]) -> Vec<triage_core::Event> {
    let observe = |(cursor, (source, second, text)): (usize, &(SourceKind, i64, &str))| Observation {
        node: "n1".into(),
        boot: "b".into(),
        source: *source,
        stream: String::new(),
        cursor: cursor as u64,
        at: START.plus_secs(*second).plus_micros(123_456),
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Line((*text).to_owned()),
    };
    lines.iter().enumerate().map(observe).map(|seen| catalog.classify(&seen).unwrap()).collect()
}

fn task(rank: u32, what: TaskWhat) -> TaskEdge {
    TaskEdge {
        job: 4711,
        array: None,
        restart: 0,
        step: "0".to_owned(),
        rank,
        local: rank,
        pid: 5000 + rank,
        what,
        ask: JobAsk::Monitor,
        gpus: vec!["0000:61:00.0".to_owned()],
    }
}

/// A run with one of everything in it.
fn full(catalog: &Catalog) -> Bundle {
    let mut of_kernel = events(
        catalog,
        &[
            (SourceKind::Kmsg, -900, "NVRM: Xid (PCI:0000:61:00): 13, pid=9, name=x, Graphics Exception"),
            (
                SourceKind::Kmsg,
                1800,
                "NVRM: Xid (PCI:0000:61:00): 79, pid=5003, name=python3, GPU has fallen off the bus.",
            ),
        ],
    );
    // What a detector made of it: no line of any log.
    let concluded = triage_core::Event {
        cursor: 0,
        text: "seen again and again by user ada".to_owned(),
        ..of_kernel[1].clone()
    };
    of_kernel.insert(1, concluded);
    let node = NodeEvidence {
        node: "n1".into(),
        boot: Some(START.plus_secs(-86_400)),
        addresses: vec!["10.1.1.1".to_owned()],
        kernel_read: true,
        events: of_kernel,
        tasks: vec![
            (START, task(0, TaskWhat::Start)),
            (START.plus_secs(1801), task(0, TaskWhat::End(ExitStatus::Signal(9)))),
        ],
        nvml: Some(NvmlReading {
            state: NvmlState::Ok,
            driver_version: Some("570.1".to_owned()),
            gpus: vec![GpuReading { index: 0, lost: true, ..GpuReading::default() }],
            ..NvmlReading::default()
        }),
        beside: vec![Resource::GpuIndex(3)],
        blind: vec!["/home/ada: gone".to_owned()],
        ..NodeEvidence::default()
    };
    let other = NodeEvidence { node: "n2".into(), told_only: true, ..NodeEvidence::default() };
    let past = PastRun {
        job: "4000".to_owned(),
        user: "bob".to_owned(),
        at: START.plus_secs(-7200),
        nodes: vec!["n1".into()],
        class: "hardware".to_owned(),
        signature: "xid.79".to_owned(),
        culprits: vec![PastCulprit { node: "n1".into(), resource: None }],
    };
    let run = RunFacts {
        job: "4700_3".to_owned(),
        user: "ada".to_owned(),
        state: "FAILED".to_owned(),
        exit: Some(ExitStatus::Signal(6)),
        start: START,
        end: Some(START.plus_secs(1802)),
        restart: 2,
        ranks_per_node: Some(8),
    };
    let evidence = JobEvidence {
        run,
        nodes: vec![node, other],
        history: vec![past],
        history_of: Some(NodeName::from("n1")),
        blind: vec!["output /home/ada/x: gone".to_owned()],
        ..JobEvidence::default()
    };
    Bundle { evidence, rules: triage_bundle::JobRules { requeue: Some(true) } }
}

fn written(
    bundle: &Bundle,
    files: &[OutputText],
    catalog: &Catalog,
    redact: bool,
) -> (tempfile::TempDir, Bundle) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("b");
    let redactor = redact.then(|| Redactor::new(&bundle.evidence, catalog));
    let content = Content { evidence: &bundle.evidence, rules: bundle.rules, files, catalog };
    write(&place, content, redactor, &mut |_| {}).unwrap();
    let again = read(&place, catalog).unwrap();
    (folder, again)
}

fn report(bundle: &Bundle, catalog: &Catalog) -> Report {
    explain(bundle, catalog, &Policy::default())
}

#[test]
fn everything_that_is_written_is_read_again() {
    let catalog = triage_catalog::embedded();
    let bundle = full(&catalog);
    let (_folder, again) = written(&bundle, &[], &catalog, false);
    let (was, is) = (&bundle.evidence, &again.evidence);
    assert_eq!((&is.run, again.rules), (&was.run, bundle.rules));
    assert_eq!((&is.history, &is.history_of, &is.blind), (&was.history, &was.history_of, &was.blind));
    for (was, is) in was.nodes.iter().zip(&is.nodes) {
        assert_eq!(
            (&is.node, is.boot, &is.addresses, is.kernel_read),
            (&was.node, was.boot, &was.addresses, was.kernel_read)
        );
        assert_eq!((&is.tasks, &is.nvml, &is.beside), (&was.tasks, &was.nvml, &was.beside));
        assert_eq!((is.told_only, &is.blind), (was.told_only, &was.blind));
        let told = |node: &NodeEvidence| {
            let mut told: Vec<_> = node
                .events
                .iter()
                .map(|e| (e.at, e.code.clone(), e.resource.clone(), e.text.clone()))
                .collect();
            told.sort();
            told
        };
        assert_eq!(told(is), told(was));
    }
    assert_eq!(report(&again, &catalog), report(&bundle, &catalog));
}

#[test]
fn redacted_it_says_the_same_of_nobody() {
    let catalog = triage_catalog::embedded();
    let bundle = full(&catalog);
    let (folder, again) = written(&bundle, &[], &catalog, true);
    let (was, is) = (report(&bundle, &catalog), report(&again, &catalog));
    assert_eq!((is.class, is.culprits, is.drain, is.job), (was.class, was.culprits, was.drain, was.job));
    let text = text_of(folder.path());
    for gone in ["ada", "bob", "10.1.1.1"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    assert!(text.contains("0000:61:00") && text.contains("n1"));
}

fn text_of(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        text += &match entry.file_type().unwrap().is_dir() {
            true => text_of(&entry.path()),
            false => String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned(),
        };
    }
    text
}

#[test]
fn names_of_output_files_lead_nowhere_else() {
    let catalog = triage_catalog::embedded();
    let names = ["../../x", ".hidden", "a/b", "\u{1b}[2J", "", "plain.out"];
    let files: Vec<OutputText> = names
        .iter()
        .map(|name| OutputText { name: (*name).to_owned(), parts: vec![b"x\n".to_vec()] })
        .collect();
    let (folder, _) = written(&full(&catalog), &files, &catalog, false);
    let listed = fs::read_dir(folder.path().join("b/output")).unwrap();
    let listed: Vec<String> = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(listed.len(), names.len(), "{listed:?}");
    assert!(
        listed.iter().all(|name| !name.starts_with('.') && !name.chars().any(char::is_control)),
        "{listed:?}"
    );
    assert!(listed.contains(&"plain.out".to_owned()));
}

#[test]
fn what_is_there_stays_and_half_a_bundle_does_not() {
    let catalog = triage_catalog::embedded();
    let folder = tempfile::tempdir().unwrap();
    let mut bundle = full(&catalog);
    let attempt = |bundle: &Bundle, place: &Path| {
        let content =
            Content { evidence: &bundle.evidence, rules: bundle.rules, files: &[], catalog: &catalog };
        write(place, content, None, &mut |_| {})
    };
    assert!(matches!(attempt(&bundle, folder.path()), Err(WriteError::Exists { .. })));
    bundle.evidence.nodes[1].node = NodeName::from("../../etc");
    let place = folder.path().join("b");
    assert!(matches!(attempt(&bundle, &place), Err(WriteError::Unwritable { .. })));
    assert!(!place.exists());
}

#[test]
fn a_folder_that_is_exchanged_meanwhile_leads_nowhere_else() {
    let catalog = triage_catalog::embedded();
    let bundle = full(&catalog);
    let folder = tempfile::tempdir().unwrap();
    let (place, aside, victim) =
        (folder.path().join("b"), folder.path().join("aside"), folder.path().join("victim"));
    fs::create_dir_all(victim.join("output")).unwrap();
    let files = [OutputText { name: "pwned".to_owned(), parts: vec![b"x\n".to_vec()] }];
    let content =
        Content { evidence: &bundle.evidence, rules: bundle.rules, files: &files, catalog: &catalog };
    let mut exchanged = false;
    let done = write(&place, content, None, &mut |_| {
        if !std::mem::replace(&mut exchanged, true) {
            fs::rename(&place, &aside).unwrap();
            std::os::unix::fs::symlink(&victim, &place).unwrap();
        }
    });
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(fs::read_dir(victim.join("output")).unwrap().count(), 0);
    assert!(!victim.join("incident.toml").exists() && aside.join("output/pwned").exists());
}

/// Bundles beside the workspace, where there are any.
fn incidents() -> Vec<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/incidents");
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join("incident.toml").is_file()).collect();
    all.sort();
    all
}

fn output(folder: &Path) -> Vec<OutputText> {
    let entries = fs::read_dir(folder.join("output")).into_iter().flatten().flatten();
    let files: BTreeMap<String, Vec<u8>> = entries
        .filter(|entry| !entry.file_name().to_string_lossy().contains("trace"))
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.into_iter().map(|(name, bytes)| OutputText { name, parts: vec![bytes] }).collect()
}

#[test]
fn incidents_are_judged_the_same_when_they_were_written_anew_redacted_or_not() {
    let catalog = triage_catalog::embedded();
    for folder in incidents() {
        let bundle = read(&folder, &catalog).unwrap();
        // A ledger keeps neither the kernel's report of who used the memory nor dumps of the flight recorder.
        if bundle.evidence.flight.is_some() || bundle.evidence.nodes.iter().any(|node| !node.oom.is_empty()) {
            continue;
        }
        let was = report(&bundle, &catalog);
        for redact in [false, true] {
            let (_place, again) = written(&bundle, &output(&folder), &catalog, redact);
            let is = report(&again, &catalog);
            let told = |report: &Report| {
                (report.class.clone(), report.culprits.clone(), report.drain.clone(), report.job.clone())
            };
            assert_eq!(told(&is), told(&was), "{} redacted: {redact}\n{is:#?}", folder.display());
        }
    }
}
