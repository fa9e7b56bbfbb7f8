//! The fault catalogue of slurm-triage: embedded data, site overrides, validation.
