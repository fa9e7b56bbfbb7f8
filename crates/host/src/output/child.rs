//! The child: gives up its rights, reads, and tells what it found. It writes nothing but its answer, and the one line it was
//! told to append.
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use triage_core::catalog::Catalog;
use triage_core::joblog::{OutputFile, OutputReport, Scanner};

use super::file::{self, Part};
use super::find::{self, Found};
use super::order::{Order, Task};
use super::share::share;
use super::{ORDER, append, copy, rights};
use crate::clock::{Deadline, SystemClock};

/// What is still read of a file's end when the time is nearly up, bytes.
const LAST: u64 = 1 << 20;

/// Runs the child: the order comes in its environment, the answer goes to its standard output.
///
/// `catalog` reads the site's catalogue from a folder; it is called after rights were given up.
pub fn run(catalog: impl FnOnce(&Path) -> Catalog) -> ExitCode {
    let _ = nix::sys::prctl::set_name(c"triage-output");
    let order = std::env::var(ORDER).ok().and_then(|text| triage_core::json::from_text::<Order>(&text).ok());
    let Some(order) = order else {
        let _ = writeln!(std::io::stderr(), "this is run by slurm-triage itself, to read a job's output");
        return ExitCode::from(2);
    };
    let answer =
        match rights::give_up(order.owner, order.millis / 1000 + 2, matches!(order.task, Task::Append(_))) {
            Ok(()) => answer(&order, catalog),
            Err(error) => {
                refused(&order, &format!("the rights of the job's owner could not be taken: {error}"))
            }
        };
    let mut out = std::io::stdout().lock();
    match out.write_all(&answer).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn refused(order: &Order, why: &str) -> Vec<u8> {
    match order.task {
        Task::Look => OutputReport::unread(why).encode(),
        Task::Copy => copy::encode(&[], vec![why.to_owned()]),
        Task::Append(_) => append::encode(&Err(why.to_owned())),
    }
}

fn answer(order: &Order, catalog: impl FnOnce(&Path) -> Catalog) -> Vec<u8> {
    // What is left after three quarters is for the ends of files that are slow to read, and for the answer.
    let deadline = Deadline::after(&SystemClock, Duration::from_millis(order.millis * 3 / 4));
    match &order.task {
        Task::Look => report(order, &catalog(&order.catalog), deadline).encode(),
        Task::Copy => {
            let (files, blind) = copy::collect(order, deadline);
            copy::encode(&files, blind)
        }
        Task::Append(line) => append::encode(&append::append(&order.request, line)),
    }
}

/// What the job's output says.
pub(super) fn report(order: &Order, catalog: &Catalog, deadline: Deadline) -> OutputReport {
    let mut scanner = Scanner::new(catalog, order.request.hints());
    let (found, mut blind) = find::find(&order.request);
    let mut files = Vec::with_capacity(found.len());
    for (file, plan) in found.iter().zip(plan(&found, order.head, order.tail)) {
        scanner.begin(&file.name);
        let read = read(file, plan, deadline, &mut blind, &mut |what| match what {
            Piece::Gap => scanner.gap(),
            Piece::Bytes(bytes, offset) => scanner.feed(bytes, offset),
        });
        files.push(OutputFile { name: file.name.clone(), length: file.length, read });
    }
    let progress = scanner.how_far();
    OutputReport { files, progress, ..OutputReport::new(scanner.finish(), blind) }
}

/// How much of a file's beginning and of its end is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) head: u64,
    pub(super) tail: u64,
}

pub(super) fn plan(found: &[Found], head: u64, tail: u64) -> Vec<Plan> {
    let lengths: Vec<u64> = found.iter().map(|file| file.length).collect();
    let heads = share(&lengths, head);
    let rest: Vec<u64> = lengths.iter().zip(&heads).map(|(length, head)| length - head).collect();
    heads.iter().zip(share(&rest, tail)).map(|(head, tail)| Plan { head: *head, tail }).collect()
}

/// What comes of a file, in order.
pub(super) enum Piece<'a> {
    /// Whole lines, and where they begin in the file.
    Bytes(&'a [u8], u64),
    /// Something was left out here.
    Gap,
}

/// Reads a file by its plan, and the very end of it when the time is nearly up; how many bytes.
pub(super) fn read(
    file: &Found,
    plan: Plan,
    deadline: Deadline,
    blind: &mut Vec<String>,
    take: &mut dyn FnMut(Piece<'_>),
) -> u64 {
    match try_read(file, plan, deadline, take) {
        Ok(read) => {
            if read < file.length {
                let left = file.length - read;
                let path = file.path.display();
                blind.push(format!("output {path}: {left} of its {} bytes were not read", file.length));
            }
            read
        }
        Err(why) => {
            blind.push(format!("output {}: {why}", file.path.display()));
            0
        }
    }
}

fn try_read(
    found: &Found,
    plan: Plan,
    deadline: Deadline,
    take: &mut dyn FnMut(Piece<'_>),
) -> Result<u64, String> {
    // Between the look and now the path may have become another file, even one that is no regular one.
    let (mut file, _) = file::open(&found.path)?;
    let mut part = |start, length, take: &mut dyn FnMut(Piece<'_>), until_deadline: bool| {
        file::read(&mut file, Part { start, length }, &mut |bytes, offset| {
            take(Piece::Bytes(bytes, offset));
            !(until_deadline && deadline.has_passed(&SystemClock))
        })
        .map_err(|error| format!("it could not be read any further: {error}"))
    };
    if plan.head + plan.tail >= found.length {
        let read = part(0, found.length, take, true)?;
        return last(&mut part, found, read, read, take);
    }
    let head = part(0, plan.head, take, false)?;
    take(Piece::Gap);
    let start = found.length - plan.tail;
    let tail = part(start, plan.tail, take, true)?;
    last(&mut part, found, start + tail, head + tail, take)
}

type ReadPart<'a> = dyn FnMut(u64, u64, &mut dyn FnMut(Piece<'_>), bool) -> Result<u64, String> + 'a;

/// Where the time was up at `at`, the end of the file is read all the same.
fn last(
    part: &mut ReadPart<'_>,
    found: &Found,
    at: u64,
    read: u64,
    take: &mut dyn FnMut(Piece<'_>),
) -> Result<u64, String> {
    let left = found.length.saturating_sub(at);
    if left == 0 {
        return Ok(read);
    }
    let length = left.min(LAST);
    if length < left {
        take(Piece::Gap);
    }
    Ok(read + part(found.length - length, length, take, false)?)
}
