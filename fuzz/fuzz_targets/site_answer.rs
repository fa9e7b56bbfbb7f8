//! What a site's own check answers: a line of text, our JSON, or the verdict of NVIDIA Health Validation.
#![no_main]
use triage_core::ExitStatus;
use triage_core::facts::site::SiteStatus;
use triage_host::runner::Finished;
use triage_host::site_checks::read_answer;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((status, data)) = data.split_first() else { return };
    let status = match status {
        9 | 11 => ExitStatus::Signal(i32::from(*status)),
        code => ExitStatus::Exit(i32::from(*code)),
    };
    let cut = data.iter().position(|b| *b == 0).unwrap_or(data.len());
    let (stdout, stderr) = data.split_at(cut);
    let finished = Finished { status, stdout: stdout.to_vec(), stderr: stderr.to_vec(), truncated: false };
    let (said, words, resource) = read_answer(&finished);
    assert!(!words.chars().any(char::is_control) && words.chars().count() <= 1_000, "{words:?}");
    assert!(resource.is_none_or(|resource| resource.len() <= 128));
    // One that crashed did not look at everything.
    assert!(!matches!(status, ExitStatus::Signal(_)) || said != SiteStatus::Ok);
});
