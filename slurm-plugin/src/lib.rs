//! The SPANK plugin of slurm-triage.
