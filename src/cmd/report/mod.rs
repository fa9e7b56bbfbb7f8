//! `slurm-triage report`: what we saw, what we did or would have done, and how that compares with what then happened.
//! docs/operators.md defines every word and figure of it.
mod claim;
mod document;
mod figures;
mod grade;
mod html;
mod page;

use crate::args::{Common, ReportArgs};
use crate::books::Books;
use crate::exit::{self, CmdResult};
use crate::render;
use crate::site::Site;
use claim::Claim;
use document::Document;
use figures::Graded;
use grade::Settings;
use triage_core::arrange::Arrange as _;

pub(crate) fn run(common: &Common, args: &ReportArgs) -> CmdResult {
    let site = Site::find(common)?;
    let since = args.since.resolve(site.now);
    let books = Books::read(&site, &args.ledgers, since)?;
    let settings = Settings { now: site.now, clean_days: args.clean_days };
    let mut claims: Vec<Claim<'_>> = books.all.iter().flat_map(|book| claim::of(book, since)).collect();
    // The same ledger may have been collected twice.
    let mut seen = std::collections::BTreeSet::new();
    claims.retain(|claim| seen.insert(&claim.decision.id));
    claims.arrange_by(|a, b| (a.at(), &a.decision.id).cmp(&(b.at(), &b.decision.id)));
    let (mut graded, mut why) = (Vec::new(), Vec::new());
    for claim in &claims {
        let (grade, because) = grade::grade(claim, &books.all, settings);
        let (saved, wasted) = figures::cost(claim, grade, site.now);
        graded.push(Graded { claim, grade, saved, wasted });
        why.push(because);
    }
    let bar = f64::from(args.bar) / 100.0;
    let rules = figures::of_rules(&graded, bar);
    let document = Document::new(&site, since, &books, settings, bar, (&graded, &why), rules);
    if common.json {
        render::json(&document)?;
    } else if args.html {
        render::print(&html::page(&document))?;
    } else {
        render::print(page::page(&document).text())?;
    }
    for asked in books.unread() {
        let error = asked.error.as_deref().unwrap_or_default();
        render::complain(&format!("left out: {error}"));
    }
    Ok(if books.unread().next().is_some() { exit::FINDINGS } else { exit::OK })
}
