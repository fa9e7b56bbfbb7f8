//! The library as cargo builds it.
use std::path::PathBuf;
use std::process::Command;

/// In the profile of this test, and built now, so that no test looks at an old one.
pub(crate) fn library() -> PathBuf {
    // target/debug/deps/symbols-0123 -> target/debug
    let folder = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "spank-triage", "--target-dir"]).arg(folder.parent().unwrap());
    if folder.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success(), "cargo build -p spank-triage");
    folder.join("libspank_triage.so")
}
