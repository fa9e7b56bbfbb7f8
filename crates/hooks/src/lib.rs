//! The executables slurmd runs: prolog, epilog, health check and their probe.
pub mod supervise;
