//! Writes the log of a healthy node to standard output, for measuring what reading it costs.
//!
//! `cargo run --release -p triage-catalog --example healthy-log -- MIB [clean]`: `clean` leaves out every line that holds a
//! literal of some family, so that nothing in it has a meaning.
#[path = "../tests/healthy/mod.rs"]
mod healthy;

use std::io::{BufWriter, Write};

use healthy::{BOOT, Dice, ordinary};
use triage_catalog::embedded;
use triage_core::catalog::Origin;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(mib) = args.first().and_then(|n| n.parse::<u64>().ok()) else {
        eprintln!("usage: healthy-log MIB [clean]");
        std::process::exit(2);
    };
    let catalog = embedded();
    let keeps = |line: &str| {
        args.get(1).is_none() || catalog.candidates(Origin::Kernel, line.as_bytes()).next().is_none()
    };
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let (mut written, mut dice, mut seconds) = (0_u64, Dice(3), 0.0_f64);
    let mut boot = BOOT.iter().map(|line| (*line).to_owned());
    while written < mib << 20 {
        let text = boot.next().unwrap_or_else(|| {
            let mut text = String::new();
            ordinary(&mut dice, &mut text);
            text
        });
        seconds += 0.37;
        for line in text.lines().filter(|line| keeps(line)) {
            let line = format!("[{seconds:12.6}] {line}\n");
            written += line.len() as u64;
            out.write_all(line.as_bytes())?;
        }
    }
    out.flush()
}
