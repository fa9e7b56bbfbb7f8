//! Everything of slurm-triage that touches the machine: clock, runner, kernel log, NVML, Slurm commands.
pub mod clock;
pub mod config;
pub mod executor;
pub mod facts;
pub mod kernel_log;
pub mod log;
pub mod metrics;
pub mod nvml;
pub mod output;
pub mod probe;
pub mod proc;
pub mod runner;
pub mod site_checks;
pub mod slurm;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
