//! The story as text.
mod claims;
mod doings;
mod runs;

use super::resolve::Subject;
use super::story::Story;
use crate::cmd::cases;
use crate::render::{self, Page};
use crate::site::Site;
use crate::view::CodeView;

/// Most characters shown of one line of a log. The ledger has all of it: `--json`.
const LINE: usize = 500;

/// The page.
pub(super) fn page(story: &Story, site: &Site, also: &[Subject], next: &str) -> Page {
    let mut page = Page::default();
    page.line(0, headline(story, site));
    for other in also {
        page.line(0, format_args!("({} is also a {}: slurm-triage why {other})", other.name(), other.kind()));
    }
    runs::runs(&mut page, story);
    claims::verdicts(&mut page, story);
    claims::cases(&mut page, story);
    claims::events(&mut page, story);
    doings::decisions(&mut page, story);
    doings::actions(&mut page, story);
    doings::holds(&mut page, story);
    doings::blind(&mut page, story);
    doings::audit(&mut page, story);
    codes(&mut page, &story.codes);
    page.heading(format_args!("Next: {next}"));
    page
}

fn headline(story: &Story, site: &Site) -> String {
    let node = &site.node;
    match &story.subject {
        Subject::Node(node) => {
            let open = story.cases.iter().filter(|case| case.is_open()).count();
            format!("node {node}: {}", counted(open, "open case"))
        }
        Subject::Case(id) => story.cases.iter().find(|case| case.id == *id).map_or_else(
            || format!("case {id}"),
            |case| {
                let code = render::marked(&case.code, case.synthetic);
                format!("case {id}: {code} on {} of {}, {}", case.resource, case.node, cases::state(case))
            },
        ),
        Subject::Job(_) => {
            let runs = counted(story.runs.len(), "run");
            let more = if story.more_runs { " (the latest; there are older ones)" } else { "" };
            format!("job {}: {runs} on {node}{more}", story.subject.name())
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

fn codes(page: &mut Page, codes: &[CodeView]) {
    if codes.is_empty() {
        return;
    }
    page.heading("What the codes mean");
    for code in codes {
        page.line(1, format_args!("{}  {}", code.code, code.name));
        page.paragraph(3, "What  ", &code.description);
        page.paragraph(3, "Impact", &code.impact);
        page.paragraph(3, "Remedy", &code.remedy);
        page.paragraph(3, "Site  ", &code.reason);
    }
}
