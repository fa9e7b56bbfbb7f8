//! Diagnoses a bundle and prints the report as JSON: `cargo run -p triage-bundle --example diagnose -- BUNDLE`.
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: diagnose BUNDLE");
        return ExitCode::from(2);
    };
    match triage_bundle::diagnose(Path::new(&folder), &triage_catalog::embedded()) {
        Ok(report) => {
            println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}
