//! The ledger of slurm-triage: one SQLite file a node.
