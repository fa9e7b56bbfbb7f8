//! Whatever a log holds: no panic, nothing skipped, nothing believed that a process wrote.
#![expect(clippy::unwrap_used, reason = "a test that cannot read the catalogue's files has failed")]
use proptest::prelude::*;
use triage_catalog::embedded;
use triage_core::catalog::{Catalog, Origin};
use triage_core::classify::LINE_CAP;
use triage_core::{Advice, BootId, NodeName, Observation, Payload, Provenance, Resource, SourceKind, Stamp};

const XID: &str = "NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=x, GPU has fallen off the bus.";

fn hits(catalog: &Catalog, log: &[u8]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    catalog.for_each_hit(Origin::Kernel, log, |hit| {
        let line = log[..hit.line.start].iter().filter(|b| **b == b'\n').count() + 1;
        found.push((line, hit.meaning.code.to_string()));
    });
    found
}

fn observation(text: String) -> Observation {
    Observation {
        node: NodeName::from("n1"),
        boot: BootId::from("b"),
        source: SourceKind::Kmsg,
        stream: String::new(),
        cursor: 7,
        at: Stamp::from_secs(1),
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Line(text),
    }
}

#[test]
fn lines_are_found_at_the_ends_of_a_buffer_and_next_to_each_other() {
    let catalog = embedded();
    assert_eq!(hits(&catalog, XID.as_bytes()), [(1, "xid.79".to_owned())]);
    let log = format!("{XID}\n{XID}\n\n\nx\n{XID}\n");
    let lines: Vec<usize> = hits(&catalog, log.as_bytes()).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [1, 2, 6]);
    assert!(hits(&catalog, b"").is_empty());
    assert!(hits(&catalog, b"\n\n\n").is_empty());
}

#[test]
fn nul_bytes_and_broken_utf8_hide_no_line() {
    let catalog = embedded();
    let mut log = b"\0\0\xff\xfe rubbish\n".to_vec();
    log.extend_from_slice(XID.as_bytes());
    log.extend_from_slice(b"\n\xc3\x28\n");
    assert_eq!(hits(&catalog, &log), [(2, "xid.79".to_owned())]);
    let name = b"NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=\xff\0\xfe, GPU has fallen off the bus.";
    assert_eq!(catalog.read(Origin::Kernel, name).unwrap().code.as_str(), "xid.79");
}

#[test]
fn a_line_of_ten_megabytes_is_looked_at_up_to_the_cap_and_the_next_one_is_found() {
    let catalog = embedded();
    let mut log = b"[1.0] ".to_vec();
    log.extend(std::iter::repeat_n(b"NVRM: Xid ".as_slice(), 1_000_000).flatten());
    log.push(b'\n');
    log.extend_from_slice(XID.as_bytes());
    assert_eq!(hits(&catalog, &log), [(2, "xid.79".to_owned())]);

    let text = format!("{XID}{}", "é".repeat(5_000_000));
    let event = catalog.classify(&observation(text)).unwrap();
    assert!(event.text.len() <= LINE_CAP, "the ledger would keep ten megabytes");
}

#[test]
fn a_process_cannot_pass_for_the_kernel_by_its_name() {
    let catalog = embedded();
    for line in [
        "[1.0] python[4711]: NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.",
        "Nov 29 13:05:23 n1 logger[9]: NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.",
        "Nov 29 13:05:23 n1 job: NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.",
        "[1.0] x NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.",
    ] {
        assert!(hits(&catalog, line.as_bytes()).is_empty(), "{line}");
    }
}

/// The sample lines of the kernel's families, in whatever file they are.
fn samples() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files
        .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with("job-"))
        .map(|path| std::fs::read_to_string(path).unwrap());
    let line = |line: &str| {
        let line = line.strip_prefix("line = ")?;
        Some(line.trim_matches(['"', '\'']).replace("\\\"", "\""))
    };
    texts.flat_map(|text| text.lines().filter_map(line).collect::<Vec<_>>()).collect()
}

/// Each of these any user can have the kernel say, with a name or a path of their own in it.
#[test]
fn no_user_can_have_the_kernel_say_that_a_node_is_broken() {
    let catalog = embedded();
    let samples = samples();
    assert!(samples.len() > 300, "{}", samples.len());
    for sample in &samples {
        let comm: String = sample.chars().take(15).collect();
        for line in [
            format!("{comm}[1234]: segfault at 0 ip 0000 sp 0000 error 4 in x[55d0+1000]"),
            format!("x[1234]: segfault at 0 ip 0000 sp 0000 error 4 in {sample}[55d0+1000]"),
            format!(
                "{comm}[1234]: unhandled level 2 translation fault (11) at 0x0, esr 0x92000006, in x[55+1000]"
            ),
            format!(
                "x[1234]: unhandled exception: DABT, ESR 0x92000006, translation fault in {sample}[55,1000+1000]"
            ),
            format!(
                "{comm}[1234] bad frame in rt_sigreturn frame:00 ip:55 sp:7f orax:ff in {sample}[55+1000]"
            ),
            format!("traps: {comm}[1234] general protection fault ip:55 sp:7f error:0 in {sample}[55+1000]"),
            format!("{comm} (1234) uses deprecated remap_file_pages() syscall. See Documentation/mm."),
            format!("{comm} (1234): attempted to duplicate a private mapping with mremap."),
            format!("{comm}[1234] vsyscall attempted with vsyscall=none ip:55 cs:33 sp:7f ax:0"),
            format!("{comm}: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), nodemask=(null)"),
            format!("{comm}: vmalloc error: size 4096, page order 0"),
            format!("fuse: {sample}"),
            format!("process '/home/u/{sample}' started with executable stack"),
            format!("warning: `{comm}' uses 32-bit capabilities (legacy support in use)"),
            format!("overlayfs: failed to resolve '/home/u/{sample}': -2"),
            format!("x86/split lock detection: #AC: {comm}/1234 took a split_lock trap at address: 0x40"),
        ] {
            // What remains is the kernel's own word about that process.
            let meaning = catalog.read(Origin::Kernel, line.as_bytes());
            let found = meaning.map_or_else(String::new, |meaning| meaning.code.to_string());
            assert!(found.is_empty() || OF_A_PROCESS.contains(&found.as_str()), "{line}: {found}");
        }
    }
}

/// Words that a family looks for, behind a name that is none of the kernel's: no finding at all, not even one to watch.
#[test]
fn a_familys_words_in_the_middle_of_a_line_are_no_finding() {
    let catalog = embedded();
    for name in ["x", "a b", "my-app 0:1", "nfs4_x", "train.py"] {
        for line in [
            format!("{name} I/O error, dev sda, sector 8 op 0x0:(READ)"),
            format!("{name}: fatal error, dev sda, sector 8"),
            format!("{name} error, dev sda, sector 8"),
            format!("{name}: session lost, lease expired"),
            format!("{name} lease expired failed on NFSv4 server nas01"),
            format!("{name}: nfs4_reclaim_open_state: Lock reclaim failed!"),
            format!("{name}: mpt3sas_cm0: fault_state(0x2622)!"),
            format!("{name}: FW in FAULT state!!"),
            format!("{name}: Detected Hardware Unit Hang:"),
            format!("{name} transmit queue 0 timed out"),
        ] {
            let found = catalog.read(Origin::Kernel, line.as_bytes()).map(|meaning| meaning.code.to_string());
            assert_eq!(found, None, "{line}");
        }
    }
}

/// What the kernel says of a process as such: recorded, asks for nothing.
const OF_A_PROCESS: &[&str] =
    &["memory.allocation_failed", "oom.invoked", "process.segfault", "process.trap"];

/// Messages about the node in which the kernel names the process that met the fault. That a thread of the driver's is stuck
/// may make a lockup a symptom; it stays a lockup.
#[test]
fn what_a_process_calls_itself_changes_nothing_in_a_message_about_the_node() {
    let catalog = embedded();
    for sample in &samples() {
        let comm: String = sample.chars().take(15).collect();
        for message in [
            |comm: &str| {
                format!(
                    "EXT4-fs error (device sda1): ext4_find_entry:1682: inode #2: comm {comm}: iget: bad extent"
                )
            },
            |comm: &str| format!("INFO: task {comm}:4711 blocked for more than 120 seconds."),
            |comm: &str| format!("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [{comm}:4711]"),
            |comm: &str| {
                format!(
                    "Memory failure: 0x5d1a2b3: Sending SIGBUS to {comm}:4711 due to hardware memory corruption"
                )
            },
            |comm: &str| {
                format!(
                    "Out of memory: Killed process 4711 ({comm}) total-vm:1kB, anon-rss:1kB, file-rss:0kB"
                )
            },
        ] {
            let told = |comm: &str| {
                let meaning = catalog.read(Origin::Kernel, message(comm).as_bytes()).unwrap();
                (meaning.code, meaning.class, meaning.action, meaning.confidence)
            };
            assert_eq!(told(&comm), told("python3"), "{}", message(&comm));
        }
    }
}

#[test]
fn a_process_name_in_the_line_does_not_decide_what_the_line_means() {
    let catalog = embedded();
    let line = b"NVRM: Xid (PCI:0000:61:00): 43, pid=1, name=NVRM: Xid (PCI, to 0x2 (Node Reboot Required), Ch 00000008";
    let meaning = catalog.read(Origin::Kernel, line).unwrap();
    assert_eq!((meaning.code.as_str(), meaning.action), ("xid.43", Advice::None));
    let none = b"NVRM: Xid (PCI:0000:61:00): 154, pid=1, name=to 0x0 (None), GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
    assert_eq!(catalog.read(Origin::Kernel, none).unwrap().action, Advice::Reset);
}

#[test]
fn an_address_that_is_none_leaves_the_host_as_the_resource() {
    let catalog = embedded();
    let meaning = catalog.read(Origin::Kernel, b"NVRM: Xid (PCI:zz:zz): 79, x");
    assert!(meaning.is_none());
    let meaning = catalog.read(Origin::Kernel, b"NVRM: Xid (PCI:::::): 79, x").unwrap();
    assert_eq!(meaning.resource, Resource::Host);
}

#[test]
fn reading_a_line_twice_gives_one_event() {
    let catalog = embedded();
    let first = catalog.classify(&observation(XID.to_owned()));
    assert_eq!(first, catalog.classify(&observation(XID.to_owned())));
    assert_eq!(first.unwrap().id, embedded().classify(&observation(XID.to_owned())).unwrap().id);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_read_without_panic(log in prop::collection::vec(any::<u8>(), 0..2000)) {
        hits(&embedded(), &log);
    }

    #[test]
    fn anything_after_a_known_beginning_is_read_without_panic(
        start in prop::sample::select(vec![
            "NVRM: Xid (", "NVRM: Xid (PCI:0000:61:00): ", "NVRM: Xid (PCI:0000:61:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 0",
            "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): ", "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery",
        ]),
        rest in "[ -~éÿ\0]{0,120}",
        number in 0u64..20_000_000_000,
    ) {
        let catalog = embedded();
        for line in [format!("{start}{rest}"), format!("{start}{number}, {rest}"), format!("{start}{number}{rest}")] {
            if let Some(event) = catalog.classify(&observation(line.clone())) {
                prop_assert_eq!(&event.text, &line);
                prop_assert_eq!(event.cursor, 7);
            }
        }
    }

    /// The prefilter never loses a line that a family would recognise, whatever stands around it.
    #[test]
    fn a_line_with_a_meaning_is_found_in_any_surroundings(before in "[^\n]{0,300}\n", after in "\n[^\n]{0,300}", feed in "\n{0,3}") {
        let catalog = embedded();
        let log = format!("{before}{feed}{XID}{after}");
        prop_assert!(hits(&catalog, log.as_bytes()).iter().any(|(_, code)| code == "xid.79"));
    }
}
