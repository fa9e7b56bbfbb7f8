//! The operator's command `slurm-triage`.
fn main() {}
