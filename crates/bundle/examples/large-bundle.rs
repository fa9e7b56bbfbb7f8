//! Writes the bundle that `benches/diagnose.rs` measures, so that memory can be measured too:
//! `cargo run --release -p triage-bundle --example large-bundle -- FOLDER`, then `/usr/bin/time -v slurm-triage diagnose
//! FOLDER`.
#[path = "../benches/large/mod.rs"]
mod large;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: large-bundle FOLDER");
        return ExitCode::from(2);
    };
    match large::write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}
