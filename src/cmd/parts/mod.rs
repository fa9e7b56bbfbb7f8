//! `slurm-triage parts`: which GPUs, adapters and nodes cost most, each by what it is rather than by where it sits.
mod rank;
mod who;

use std::collections::BTreeSet;

use serde::Serialize;
use triage_core::Stamp;
use triage_hooks::policy_file;

use crate::args::{Common, PartsArgs};
use crate::books::{Asked, Books};
use crate::exit::{self, CmdResult};
use crate::render::{self, Page, Table};
use crate::site::Site;
use crate::view;
pub(crate) use rank::Kind;
use rank::Part;

/// Most places and codes of one part that are told in the table.
const TOLD: usize = 3;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    at: Stamp,
    since: Stamp,
    ledgers: &'a [Asked],
    more: bool,
    parts: &'a [Part],
}

pub(crate) fn run(common: &Common, args: &PartsArgs) -> CmdResult {
    let site = Site::find(common)?;
    let since = args.since.resolve(site.now);
    let books = Books::read(&site, &args.ledgers, since)?;
    let policy = policy_file::load(&site.config.paths.policy).unwrap_or_default();
    let mut parts = rank::rank(&books.all, policy.repair.probation_days);
    if !args.kind.is_empty() {
        parts.retain(|part| args.kind.contains(&part.kind));
    }
    let limit = if args.all { usize::MAX } else { usize::try_from(args.limit).unwrap_or(usize::MAX) };
    let more = parts.len() > limit;
    parts.truncate(limit);
    if common.json {
        let (v, at, ledgers) = (view::VERSION, site.now, &books.asked[..]);
        render::json(&Document { v, at, since, ledgers, more, parts: &parts })?;
    } else {
        render::print(page(&parts, more, &site, &books).text())?;
    }
    for asked in books.unread() {
        render::complain(&format!("left out: {}", asked.error.as_deref().unwrap_or_default()));
    }
    Ok(if books.unread().next().is_some() { exit::FINDINGS } else { exit::OK })
}

fn page(parts: &[Part], more: bool, site: &Site, books: &Books) -> Page {
    let mut page = Page::default();
    if parts.is_empty() {
        page.line(0, format_args!("nothing has failed on the {} nodes read", books.all.len()));
        return page;
    }
    let head =
        ["KIND", "PART", "JOBS LOST", "DRAINS", "WANTED", "FAULTS", "LAST", "WHERE", "CODES", "REMARK"];
    let mut table = Table::new(&head);
    for part in parts {
        table.row(vec![
            part.kind.word().to_owned(),
            part.name.clone(),
            part.jobs_lost.to_string(),
            part.drains.to_string(),
            part.wanted.to_string(),
            part.faults.to_string(),
            render::ago(site.now, part.last),
            if part.kind == Kind::Node { String::new() } else { some(&part.places, ", ") },
            some(&part.codes, " "),
            remark(part, site.now),
        ]);
    }
    page.table(0, &table);
    if more {
        page.line(0, "there are others: --limit N or --all shows them");
    }
    page
}

/// The first ones, and how many there are besides.
fn some(all: &BTreeSet<String>, between: &str) -> String {
    let mut told: Vec<String> = all.iter().take(TOLD).cloned().collect();
    let hidden = all.len().saturating_sub(TOLD);
    if hidden > 0 {
        told.push(format!("and {hidden} more"));
    }
    told.join(between)
}

/// What a person should know of it before putting it to work again.
fn remark(part: &Part, now: Stamp) -> String {
    let mut remarks = Vec::new();
    if part.kind != Kind::Node && part.places.len() > 1 {
        remarks.push("failed in more than one place".to_owned());
    } else if part.repaired > 0 && part.faults > part.repaired {
        remarks.push("failed again after a repair".to_owned());
    }
    if part.open > 0 {
        remarks.push(format!("{} open", part.open));
    }
    if let Some(until) = part.probation_until.filter(|until| *until > now) {
        remarks.push(format!("on probation until {}", render::seconds(until)));
    }
    remarks.join("; ")
}
