//! What the suite takes for granted of Slurm, as tests: should a release of Slurm behave otherwise, the test
//! that fails says which assumption no longer holds.

mod gpus;
mod hooks;
mod nodes;
mod requeue;
