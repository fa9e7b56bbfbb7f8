//! Everything of slurm-triage that touches the machine: clock, runner, kernel log, NVML, Slurm commands.
pub mod nvml;
