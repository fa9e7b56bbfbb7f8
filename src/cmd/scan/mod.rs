//! `slurm-triage scan`: what the catalogue recognises in any log, anywhere, without Slurm, GPU or ledger.
mod carried;
mod input;
mod progress;
mod row;

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use triage_core::catalog::{Catalog, Origin};
use triage_core::classify::prefix::Clock;
use triage_core::joblog;
use triage_host::config::Config;

use crate::args::{Common, ScanArgs, ScanSource};
use crate::exit::{CmdResult, OK, UNREADABLE};
use crate::render::complain;
use crate::site;

use carried::Origins;
use input::{Chunk, Input};
use progress::Progress;
use row::Row;

/// How much of a file is looked at to tell a kernel's log from a job's output, bytes.
const SNIFF: usize = 64 * 1024;

/// Runs it. A file that cannot be read is told, the others are read all the same.
pub(crate) fn run(common: &Common, args: &ScanArgs) -> CmdResult {
    let catalog = catalog(common)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut code = OK;
    for path in &args.files {
        match scan(common, args.source, &catalog, path, &mut out) {
            Ok(()) => {}
            Err(error) if error.downcast_ref::<std::io::Error>().is_some_and(is_closed) => return Err(error),
            Err(error) => {
                complain(&format!("{error:#}"));
                code = UNREADABLE;
            }
        }
    }
    out.flush()?;
    Ok(code)
}

/// The catalogue with the site's changes, where this machine has a configuration or the folder of the default one.
fn catalog(common: &Common) -> anyhow::Result<Catalog> {
    let config = Config::load(&site::config_path(common)).map(|loaded| loaded.config).unwrap_or_default();
    Ok(triage_catalog::load(Some(&config.paths.catalog))?)
}

fn is_closed(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::BrokenPipe
}

fn scan(
    common: &Common,
    source: ScanSource,
    catalog: &Catalog,
    path: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let name = path.display().to_string();
    let mut input = Input::open(path).with_context(|| format!("{name}: cannot be read"))?;
    let mut progress = Progress::new(&name);
    let clock = Clock { boot: None, utc_offset: 0, latest: site::now(common) };
    let mut scanner = Scanner { catalog, clock, name: &name, json: common.json, origin: None, out };
    while let Some(chunk) = input.next().with_context(|| format!("{name}: cannot be read"))? {
        let origin = *scanner.origin.get_or_insert_with(|| match source {
            ScanSource::Kernel => Origin::Kernel,
            ScanSource::Job => Origin::Job,
            ScanSource::Auto => sniff(catalog, &clock, chunk.bytes),
        });
        if let Some(line) = chunk.cut_line {
            complain(&format!("{name}:{line}: longer than {} bytes: its end is not looked at", input::CHUNK));
        }
        match origin {
            Origin::Job => scanner.job(&chunk)?,
            Origin::Kernel | Origin::Slurm => scanner.kernel(&chunk)?,
        }
        progress.advance(chunk.bytes.len());
    }
    progress.done();
    Ok(())
}

/// A log in which the kernel is named as the sender of some line is a kernel's. Else it is what more of its lines are known
/// as; where that does not decide, it is a kernel's if some line begins like one of dmesg's.
fn sniff(catalog: &Catalog, clock: &Clock, bytes: &[u8]) -> Origin {
    let head = bytes.get(..SNIFF).unwrap_or(bytes);
    let lines = || head.split(|b| *b == b'\n');
    let mut like_kernel = head.windows(5).any(|w| w == b"NVRM:");
    for line in lines() {
        match carried::origins(line) {
            Origins::Kernel => return Origin::Kernel,
            Origins::LikeKernel => like_kernel = true,
            Origins::Unsaid => {}
        }
    }
    let of_kernel = catalog
        .candidates(Origin::Kernel, head)
        .filter(|line| carried::read(catalog, clock, head, line.clone()).is_some())
        .count();
    let is_of_job = |line: &&[u8]| joblog::is_candidate(line) && joblog::read_line(catalog, line).is_some();
    let of_job = lines().filter(is_of_job).count();
    if of_kernel > of_job || (like_kernel && of_kernel == of_job) { Origin::Kernel } else { Origin::Job }
}

struct Scanner<'a> {
    catalog: &'a Catalog,
    clock: Clock,
    name: &'a str,
    json: bool,
    origin: Option<Origin>,
    out: &'a mut dyn Write,
}

impl Scanner<'_> {
    fn kernel(&mut self, chunk: &Chunk<'_>) -> std::io::Result<()> {
        let mut count = chunk.counter();
        for line in self.catalog.candidates(Origin::Kernel, chunk.bytes) {
            let start = line.start;
            let Some(found) = carried::read(self.catalog, &self.clock, chunk.bytes, line) else { continue };
            let number = count.line_at(start);
            let row = Row::new(self.name, number, found.time, Origin::Kernel, &found.meaning, &found.text);
            row.write(self.out, self.json)?;
        }
        Ok(())
    }

    fn job(&mut self, chunk: &Chunk<'_>) -> std::io::Result<()> {
        let mut count = chunk.counter();
        let mut start = 0;
        for end in memchr::memchr2_iter(b'\n', b'\r', chunk.bytes).chain([chunk.bytes.len()]) {
            let line = chunk.bytes.get(start..end).unwrap_or_default();
            if joblog::is_candidate(line)
                && let Some(meaning) = joblog::read_line(self.catalog, line)
            {
                let row = Row::new(self.name, count.line_at(start), None, Origin::Job, &meaning, line);
                row.write(self.out, self.json)?;
            }
            start = end + 1;
        }
        Ok(())
    }
}
