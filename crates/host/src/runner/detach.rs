//! A program that goes on after we have ended.
use std::process::{self, Stdio};

use super::{Command, RunError, check, plumbing, start_error};

/// Starts the command in a session of its own, child of init, with all three descriptors on `/dev/null`: slurmd waits
/// for the end of its hook's pipe, so nothing of it may be held. The command's deadline and caps are its own affair.
///
/// # Errors
/// When it could not be started; that the program itself cannot be executed is known here too.
pub fn detach(command: &Command) -> Result<(), RunError> {
    check(command)?;
    let mut child = process::Command::new(&command.program);
    child.args(&command.args).env_clear().envs(&command.env).current_dir("/");
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    plumbing::on_its_own(&mut child);
    let mut first = child.spawn().map_err(|error| start_error(&command.program, &error))?;
    // The first child has exited already: it only forked.
    let _ = first.wait();
    Ok(())
}
