//! The pure pipeline of slurm-triage: observation to action, without I/O, clock or environment.
