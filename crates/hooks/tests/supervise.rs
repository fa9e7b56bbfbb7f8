//! The supervisor against workers that misbehave. Each test forks, so the whole file runs in one test function per
//! process: the harness's own threads must not be copied half-way (`harness = false`).
use std::io::Write;
use std::time::{Duration, Instant};

use triage_hooks::supervise::{Ended, supervise};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

fn says_its_code() {
    assert_eq!(supervise(LONG, || 0), Ended::Said(0));
    assert_eq!(supervise(LONG, || 1), Ended::Said(1));
}

fn a_panic_is_a_death_and_not_a_refusal() {
    assert_eq!(supervise(LONG, || panic!("worker breaks")), Ended::Died);
}

fn a_killed_worker_is_a_death() {
    let ended = supervise(LONG, || {
        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
        0
    });
    assert_eq!(ended, Ended::Died);
}

fn a_worker_that_hangs_is_left_behind() {
    let begun = Instant::now();
    let ended = supervise(SHORT, || {
        std::thread::sleep(LONG);
        0
    });
    assert_eq!(ended, Ended::Overdue);
    assert!(begun.elapsed() < LONG, "the hook waited for its worker");
}

fn a_chatty_worker_does_not_block_on_its_own_words() {
    let ended = supervise(LONG, || {
        let line = vec![b'x'; 1 << 20];
        let _ = std::io::stderr().write_all(&line);
        7
    });
    assert_eq!(ended, Ended::Said(7));
}

fn a_grandchild_does_not_keep_the_hook_waiting() {
    let begun = Instant::now();
    let ended = supervise(LONG, || {
        // SAFETY: a worker has one thread.
        if let Ok(nix::unistd::ForkResult::Child) = unsafe { nix::unistd::fork() } {
            let _ = nix::unistd::execv(c"/bin/sleep", &[c"sleep", c"30"]);
        }
        3
    });
    assert_eq!(ended, Ended::Said(3));
    assert!(begun.elapsed() < Duration::from_secs(20), "the grandchild held the pipe");
}

fn main() {
    let tests: [(&str, fn()); 6] = [
        ("says_its_code", says_its_code),
        ("a_panic_is_a_death_and_not_a_refusal", a_panic_is_a_death_and_not_a_refusal),
        ("a_killed_worker_is_a_death", a_killed_worker_is_a_death),
        ("a_worker_that_hangs_is_left_behind", a_worker_that_hangs_is_left_behind),
        ("a_chatty_worker_does_not_block_on_its_own_words", a_chatty_worker_does_not_block_on_its_own_words),
        ("a_grandchild_does_not_keep_the_hook_waiting", a_grandchild_does_not_keep_the_hook_waiting),
    ];
    // nextest lists the tests of a binary and then runs each by name.
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            tests.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return;
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let mut passed = 0;
    for (name, test) in tests {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            test();
            println!("test {name} ... ok");
            passed += 1;
        }
    }
    println!("\ntest result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}
