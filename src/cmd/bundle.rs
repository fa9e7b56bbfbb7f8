//! `slurm-triage bundle`: everything this node knows of one run, in a folder to hand to a vendor or to a colleague.
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use triage_bundle::{Content, OutputText, Redactor, Written};
use triage_core::Stamp;
use triage_core::policy::Policy;

use super::live::{self, Live, LiveArgs};
use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::Site;

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// A job that ran on this node: 4711, 4700_3.
    #[arg(value_name = "JOB")]
    pub(crate) job: String,

    /// The folder to make; it must not be there yet [default: incident-JOB-NODE, here].
    #[arg(short, long = "into", value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,

    /// Give other names to users, paths and addresses, the same one for the same throughout.
    #[arg(long)]
    pub(crate) redact: bool,

    #[command(flatten)]
    pub(crate) live: LiveArgs,
}

/// What was done, for a program.
#[derive(Serialize)]
struct Done<'a> {
    v: u32,
    node: &'a str,
    at: Stamp,
    folder: String,
    files: usize,
    bytes: u64,
    redacted: bool,
    blind: &'a [String],
}

pub(crate) fn run(common: &Common, args: &BundleArgs) -> CmdResult {
    if let Some(out) = args.out.as_deref().filter(|out| is_archive(out)) {
        bail!("{}: a folder is written: name one, then pack it with tar -czf", out.display());
    }
    let site = Site::find(common)?;
    let (catalog, complaint) = site.catalog();
    if let Some(complaint) = complaint {
        render::complain(&format!("{complaint}; the shipped catalogue tells what lines mean"));
    }
    let policy = Policy::default();
    let mut progress = Progress::new();
    progress.tell("reading what is known of the job");
    let (bundle, copy) = Live::find(&site, (&catalog, &policy), &args.job, &args.live)?.copy();
    let folder = args.out.clone().unwrap_or_else(|| live::folder_name(&bundle.evidence).into());
    let files: Vec<OutputText> =
        copy.files.into_iter().map(|file| OutputText { name: file.name, parts: file.parts }).collect();
    let redactor = args.redact.then(|| Redactor::new(&bundle.evidence, &catalog));
    let content =
        Content { evidence: &bundle.evidence, rules: bundle.rules, files: &files, catalog: &catalog };
    let written = triage_bundle::write(&folder, content, redactor, &mut |name| progress.tell(name))?;
    drop(progress);
    let blind = bundle.evidence.blind;
    if common.json {
        let Written { files, bytes } = written;
        let (node, at, folder) = (site.node.as_str(), site.now, folder.display().to_string());
        let redacted = args.redact;
        render::json(&Done { v: 1, node, at, folder, files, bytes, redacted, blind: &blind })?;
    } else {
        render::print(page(args, &folder, &written, &blind).text())?;
    }
    Ok(exit::OK)
}

fn is_archive(out: &Path) -> bool {
    let name = out.to_string_lossy();
    [".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip"].iter().any(|ending| name.ends_with(ending))
}

fn page(args: &BundleArgs, folder: &Path, written: &Written, blind: &[String]) -> Page {
    let mut page = Page::default();
    let kib = written.bytes.div_ceil(1024);
    page.line(0, format_args!("{}: {} files, {kib} KiB", folder.display(), written.files));
    if !args.redact {
        page.line(0, "It holds what the job printed, with names and paths as they are: --redact gives them other names.");
    }
    if !blind.is_empty() {
        page.heading("Not in it");
        for line in blind {
            page.line(1, line);
        }
    }
    page
}

/// What is being done, for a person who waits, on one line that is gone at the end.
struct Progress {
    shown: bool,
}

impl Progress {
    fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    fn tell(&mut self, what: &str) {
        if self.shown {
            let what: String = what.chars().filter(|c| !c.is_control()).take(70).collect();
            let _ = write!(io::stderr(), "\r\x1b[K{what}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
