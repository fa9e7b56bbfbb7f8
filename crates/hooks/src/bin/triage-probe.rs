//! `triage-probe`: reads NVML once and prints the reading as one JSON object.
//!
//! Run by the other hooks as a child that may be killed or left behind, since any call into NVML can block in the
//! kernel. It reads no configuration, writes nothing but its answer, and shows in its name (`/proc/PID/comm`) which GPU it
//! is at, so that a process that cannot even be killed still says what it hangs on.
use std::ffi::{CString, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use triage_host::nvml::{self, Progress};

const USAGE: &str = "usage: triage-probe [--library PATH] [--scenario PATH] [--json]

Reads all NVIDIA GPUs through NVML and prints the reading as one JSON object.

  --library PATH   the NVML library (default: the loader's libnvidia-ml.so.1)
  --scenario PATH  scenario for the simulated library, handed to it as NVML_SIM_SCENARIO
  --json           print JSON; there is no other format

Exit status: 0 a reading was printed, whatever it says; 1 it could not be printed; 2 usage.
";

/// What the command line asks for.
#[derive(Default)]
struct Options {
    library: Option<PathBuf>,
    scenario: Option<PathBuf>,
    help: bool,
}

fn main() -> ExitCode {
    match parse(std::env::args_os().skip(1)) {
        Ok(options) if options.help => print(USAGE.as_bytes()),
        Ok(options) => probe(options),
        Err(error) => {
            // A closed standard error leaves the exit status to say it.
            let _ = writeln!(std::io::stderr(), "triage-probe: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut path = || {
            let path = arguments.next().filter(|path| !path.is_empty());
            path.map(PathBuf::from).ok_or_else(|| format!("{} needs a path", argument.display()))
        };
        match argument.to_str() {
            Some("--library") => options.library = Some(path()?),
            Some("--scenario") => options.scenario = Some(path()?),
            Some("--json") => {}
            Some("--help" | "-h") => options.help = true,
            _ => return Err(format!("unknown argument {}", argument.display())),
        }
    }
    Ok(options)
}

fn probe(options: Options) -> ExitCode {
    no_core_dumps();
    if let Some(scenario) = options.scenario {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var("NVML_SIM_SCENARIO", scenario) };
    }
    let reading = nvml::read(options.library.as_deref(), show);
    match serde_json::to_vec(&reading) {
        Ok(mut line) => {
            line.push(b'\n');
            print(&line)
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "triage-probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(text: &[u8]) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Names the process after what it is about to do, in the 15 bytes that the kernel keeps.
fn show(progress: Progress) {
    let name = match progress {
        Progress::Opening => "nvml open".to_owned(),
        Progress::Gpu(index) => format!("nvml gpu {index}"),
        Progress::Closing => "nvml close".to_owned(),
    };
    if let Ok(name) = CString::new(name) {
        // Without the name the sweep is the same.
        let _ = nix::sys::prctl::set_name(&name);
    }
}

/// A crash inside the driver's library must not fill a node's disk.
fn no_core_dumps() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a structure that lives through the call. Failing leaves the limit as it was.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
}
