//! What the reader of a job's output hands over: it runs as the job's user and is believed no more than the job.
#![no_main]
use triage_core::joblog::{Hints, OutputReport};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = OutputReport::decode(data, &Hints::default());
});
