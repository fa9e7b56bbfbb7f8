//! The operator's command `slurm-triage`: what a node's ledger holds, told to a person or a program.
mod advice;
mod args;
mod books;
mod cmd;
mod exit;
mod person;
mod render;
mod room;
mod site;
mod view;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    if let Some(code) = triage_hooks::output::child() {
        return code;
    }
    let Cli { common, command } = Cli::parse();
    exit::code(match &command {
        Command::Status => cmd::status::run(&common),
        Command::Events(args) => cmd::events::run(&common, args),
        Command::Cases(args) => cmd::cases::run(&common, args),
        Command::Checks => cmd::checks::run(&common),
        Command::Jobs(args) => cmd::jobs::run(&common, args),
        Command::Why(args) => cmd::why::run(&common, args),
        Command::Baseline(args) => cmd::baseline::run(&common, args),
        Command::Doctor(args) => cmd::doctor::run(&common, args),
        Command::Inject(args) => cmd::inject::run(&common, args),
        Command::Scan(args) => cmd::scan::run(&common, args),
        Command::Report(args) => cmd::report::run(&common, args),
        Command::Parts(args) => cmd::parts::run(&common, args),
        Command::Ack(args) => cmd::people::ack(&common, args),
        Command::Acquit(args) => cmd::people::acquit(&common, args),
        Command::Hold(args) => cmd::people::hold(&common, args),
        Command::Release(args) => cmd::people::release(&common, args),
        Command::Trail(args) => cmd::trail::run(&common, args),
        Command::Policy(args) => cmd::policy::run(&common, args),
        Command::Diagnose(args) => cmd::diagnose::run(&common, args),
        Command::Bundle(args) => cmd::bundle::run(&common, args),
    })
}
