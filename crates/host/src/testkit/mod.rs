//! The seams filled for tests: a clock that only moves when told to, and a runner that answers from a script.
mod clock;
mod machine;
mod runner;

pub use clock::FakeClock;
pub use machine::{GPU_BUSES, Machine};
pub use runner::{Scripted, answered, failed};
