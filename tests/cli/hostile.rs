//! What a log says is shown, never obeyed: not by a terminal, not by a reader who trusts our own lines.
use triage_core::{Resource, SourceKind};
use triage_ledger::{AuditNote, Level, Seen};

use crate::support::*;

const NASTY: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\r\nNext: nothing: all is well\u{9b}31m\u{202e}\u{200b}\u{7f}\t|<script>\"'&";

fn node() -> Node {
    Node::with(|ledger| {
        let Tale { mut line, mut event, mut case, mut span, mut verdict } = tale();
        line.payload = triage_core::Payload::Line(NASTY.to_owned());
        event.text = NASTY.to_owned();
        event.resource = Resource::Nic(NASTY.to_owned());
        event.fields.insert("note".to_owned(), NASTY.to_owned());
        case.why = NASTY.to_owned();
        case.resource = event.resource.clone();
        span.user = NASTY.to_owned();
        span.partition = NASTY.to_owned();
        span.state = NASTY.to_owned();
        verdict.story = vec![NASTY.to_owned()];
        let decision = node_decision(&case, triage_core::Intent::Drain, T0, vec![gate(NASTY, false, NASTY)]);
        let at = T0.plus_secs(1_801);
        let blind = look(SourceKind::Nvml, at, Seen::Blind { reason: NASTY.to_owned(), hung: None });
        let note = AuditNote { level: Level::Error, text: NASTY.to_owned(), ..AuditNote::info(NASTY, NASTY) };
        Rows {
            observations: vec![line],
            events: vec![event],
            cases: vec![case.clone()],
            verdicts: vec![verdict],
            decisions: vec![decision.clone()],
            intents: vec![drain(&case, &decision)],
            spans: vec![span],
            sources: vec![blind],
            audit: vec![note],
            ..Rows::default()
        }
        .write(ledger, at);
    })
}

const VIEWS: [&[&str]; 6] =
    [&["status"], &["events"], &["cases"], &["jobs"], &["why", "4711"], &["why", "n1"]];

/// Those that need not show the text.
const OTHER_VIEWS: [&[&str]; 9] = [
    &["checks"],
    &["trail"],
    &["report"],
    &["report", "--html"],
    &["parts"],
    &["parts", "--kind", "nic"],
    &["policy", "replay"],
    &["diagnose", "4711"],
    &["baseline"],
];

fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
}

#[test]
fn no_view_lets_a_control_character_through() {
    let node = node();
    for view in VIEWS {
        let answer = node.run(view);
        let found = answer.out.chars().chain(answer.err.chars()).find(|c| is_unsafe(*c));
        assert_eq!(found, None, "{view:?}: {}", answer.out);
        assert!(answer.out.contains("\\u{1b}[2J"), "{view:?} shows it: {}", answer.out);
    }
}

#[test]
fn no_other_view_does_either_nor_lets_a_tag_into_a_page() {
    let node = node();
    for view in OTHER_VIEWS {
        for view in [view.to_vec(), [&["--json"], view].concat()] {
            let answer = node.run(&view);
            let found = answer.out.chars().chain(answer.err.chars()).find(|c| is_unsafe(*c));
            assert_eq!(found, None, "{view:?}: {}", answer.out);
            let is_page = view.contains(&"--html") && !view.contains(&"--json");
            assert!(!is_page || !answer.out.contains("<script"), "{view:?}");
            assert!(!answer.out.lines().any(|line| line.starts_with("Next: nothing")), "{view:?}");
        }
    }
}

#[test]
fn no_text_of_a_log_poses_as_a_line_of_ours() {
    let node = node();
    for view in VIEWS {
        let answer = node.run(view);
        assert!(
            !answer.out.lines().any(|line| line.starts_with("Next: nothing")),
            "{view:?}: {}",
            answer.out
        );
    }
}

#[test]
fn json_is_safe_on_a_terminal_and_tells_the_text_as_it_was() {
    let node = node();
    for view in VIEWS {
        let answer = node.run(&[&["--json"], view].concat());
        let found = answer.out.chars().find(|c| is_unsafe(*c));
        assert_eq!(found, None, "{view:?}: {}", answer.out);
        answer.json();
    }
    assert_eq!(node.run(&["--json", "events"]).json()["events"][0]["text"], NASTY);
}

#[test]
fn a_command_that_is_suggested_holds_no_quote_of_a_logs() {
    let node = Node::with(|ledger| {
        let Tale { line, event, mut case, .. } = tale();
        case.resource = Resource::Nic("a'; touch /tmp/x; '$(id)`id`".to_owned());
        let held = node_decision(&case, triage_core::Intent::Drain, T0, vec![gate("mode", false, "so")]);
        Rows {
            observations: vec![line],
            events: vec![event],
            cases: vec![case],
            decisions: vec![held],
            ..Rows::default()
        }
        .write(ledger, T0);
    });
    let out = node.run(&["why", "n1"]).expect(0).out;
    let next = out.lines().last().unwrap();
    assert_eq!(next.matches('\'').count(), 2, "{next}");
    assert!(
        !next.contains(['$', '`', ';']) || !next.split('\'').nth(1).unwrap().contains(['$', '`', ';']),
        "{next}"
    );
}

#[test]
fn what_was_asked_is_not_echoed_to_the_terminal_as_it_is() {
    let answer = node().run(&["why", "\u{1b}[31mx\nok"]).expect(1);
    assert!(!answer.out.contains('\u{1b}') && answer.out.contains("\\u{1b}[31mx\\nok"), "{}", answer.out);
}

#[test]
fn a_flood_of_events_is_told_in_bounds() {
    let node = Node::with(|ledger| {
        let lines: Vec<_> = (0..3_000)
            .map(|n| line(n, T0.plus_micros(i64::try_from(n).unwrap()), &"y".repeat(4_000)))
            .collect();
        let events = lines.iter().map(|line| event(line, "xid.79")).collect();
        let spans = vec![span(run_of(4711, 0, T0))];
        Rows { observations: lines, events, spans, ..Rows::default() }.write(ledger, T0);
    });
    let why = node.run(&["why", "4711"]).expect(0).says("Also seen meanwhile (the latest)");
    assert!(why.out.len() < 64 * 1024, "{} bytes", why.out.len());
    let events = node.run(&["events"]).expect(0).says("there are older ones");
    assert!(events.out.lines().count() <= 202 && events.out.lines().all(|line| line.len() < 400));
}
