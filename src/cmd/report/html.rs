//! The report as one HTML file: no script, nothing from elsewhere, every text escaped.
use std::fmt::Write;

use super::document::Document;
use super::figures::RuleFigures;
use crate::render;

const STYLE: &str = "body{font:15px/1.45 sans-serif;margin:2em auto;max-width:80em;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:.5em 0 1.5em}th,td{border:1px solid #ccc;padding:.25em .6em;text-align:left;\
vertical-align:top}th{background:#f3f3f3}td.n{text-align:right}.right{background:#e4f5e4}.wrong{background:#fbe3e0}\
.open{background:#fdf6dc}.withheld{color:#777}";

pub(super) fn page(document: &Document<'_>) -> String {
    let mut html = String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    // Writing to a string cannot fail.
    let _ = write!(
        html,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>slurm-triage report</title><style>{STYLE}</style></head><body><h1>slurm-triage report</h1>\n<p>{} to {}: \
         {} of {} ledgers read, {} ended, {} of them failed.</p>\n",
        escape(&render::seconds(document.since)),
        escape(&render::seconds(document.at)),
        document.seen.nodes,
        document.ledgers.len(),
        render::counted(document.seen.runs, "run"),
        document.seen.failed
    );
    rules(&mut html, document);
    seen(&mut html, document);
    decisions(&mut html, document);
    ledgers(&mut html, document);
    html.push_str("</body></html>\n");
    html
}

fn rules(html: &mut String, document: &Document<'_>) {
    html.push_str("<h2>Rules</h2>\n");
    let head = [
        "Rule",
        "Wants",
        "Mode",
        "Times",
        "Done",
        "Right",
        "Wrong",
        "Open",
        "Withheld",
        "Precision (95 %)",
        "Saved",
        "Wasted",
        "Ready to act",
    ];
    table(html, &head, document.rules.iter().map(|rule| (String::new(), rule_cells(rule))));
}

fn rule_cells(rule: &RuleFigures) -> Vec<String> {
    let counts = [rule.wanted, rule.done, rule.right, rule.wrong, rule.open, rule.withheld];
    [rule.rule.clone(), rule.intent.to_owned(), rule.mode.to_string()]
        .into_iter()
        .chain(counts.map(|count| count.to_string()))
        .chain([
            rule.told_precision(),
            rule.saved.told(),
            rule.wasted.told(),
            format!("{}: {}", rule.told_ready(), rule.ready_because),
        ])
        .collect()
}

fn seen(html: &mut String, document: &Document<'_>) {
    html.push_str("<h2>Seen</h2>\n");
    let seen = &document.seen;
    let row = |kind: &str, name: &str, count: String| {
        (String::new(), vec![kind.to_owned(), name.to_owned(), count])
    };
    let events = seen.events.iter().map(|(name, count)| row("event", name, count.to_string()));
    let cases = seen.cases.iter().map(|(name, count)| row("case", name, count.to_string()));
    let verdicts = seen.verdicts.iter().map(|(name, count)| row("verdict", name, count.to_string()));
    table(html, &["Kind", "What", "Count"], events.chain(cases).chain(verdicts));
}

fn decisions(html: &mut String, document: &Document<'_>) {
    html.push_str("<h2>Decisions</h2>\n");
    let head = ["When", "Node", "Wanted", "For", "Rule", "Done", "Grade", "Because", "Why it was wanted"];
    let rows = document.decisions.iter().map(|one| {
        let cells = vec![
            render::seconds(one.at),
            one.node.to_string(),
            one.intent.to_owned(),
            one.subject.clone(),
            one.rule.to_owned(),
            one.done_at.map_or_else(|| "no".to_owned(), render::seconds),
            one.grade.word().to_owned(),
            one.because.to_owned(),
            one.why.to_owned(),
        ];
        (one.grade.word().to_owned(), cells)
    });
    table(html, &head, rows);
}

fn ledgers(html: &mut String, document: &Document<'_>) {
    html.push_str("<h2>Ledgers</h2>\n");
    let rows = document.ledgers.iter().map(|asked| {
        let node = asked.node.as_ref().map(ToString::to_string).unwrap_or_default();
        let state = asked.error.clone().unwrap_or_else(|| "read".to_owned());
        (String::new(), vec![node, asked.path.display().to_string(), state])
    });
    table(html, &["Node", "File", "State"], rows);
}

/// A table; each row comes with its class, a word of ours.
fn table(html: &mut String, head: &[&str], rows: impl Iterator<Item = (String, Vec<String>)>) {
    html.push_str("<table><tr>");
    for cell in head {
        let _ = write!(html, "<th>{}</th>", escape(cell));
    }
    html.push_str("</tr>\n");
    for (class, cells) in rows {
        let _ = write!(html, "<tr class=\"{}\">", escape(&class));
        for cell in &cells {
            let _ = write!(html, "<td>{}</td>", escape(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table>\n");
}

/// Text as HTML: what could be markup or end an attribute, and what a reader could not see, is spelled out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in render::escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_is_shown_and_not_obeyed() {
        let shown = escape("<script>alert('x')</script>\" onload=\"\u{202e}&\0");
        assert_eq!(
            shown,
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; onload=&quot;\\u{202e}&amp;\\u{0}"
        );
    }

    proptest! {
        #[test]
        fn no_text_leaves_its_cell(text in ".*") {
            prop_assert!(!escape(&text).contains(['<', '>', '"', '\'']));
        }
    }
}
