//! The spool record: the only thing the SPANK plugin shares with the rest of slurm-triage.
