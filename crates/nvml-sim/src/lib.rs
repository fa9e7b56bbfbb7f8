//! A simulated `libnvidia-ml.so.1`: GPUs and faults scripted by a TOML scenario (`docs/nvml-sim.md`), behind the C
//! interface of NVML.
//!
//! ```text
//! C caller -> api/* -> call (one gate for every function) -> state -> scenario (values, faults, when)
//! ```
//!
//! Structures and constants come from `nvml-wrapper-sys`, so a layout is written down once, by its maintainers; a
//! test with NVIDIA's own Python bindings checks them against a second source.
//!
//! Invariants: nothing is printed on standard output; no panic leaves the library; no lock is held while a
//! simulated hang sleeps; an argument's pointer is written through only after a null check.
mod api;
mod call;
mod ffi;
mod locate;
mod scenario;
mod state;
