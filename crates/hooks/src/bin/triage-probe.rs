//! `triage-probe`: reads NVML once and prints the reading as one JSON object; or asks filesystems and disks how they are.
//!
//! Run by the other hooks as a child that may be killed or left behind, since any call into NVML can block in the
//! kernel. It reads no configuration, writes nothing but its answer, and shows in its name (`/proc/PID/comm`) which GPU it
//! is at, so that a process that cannot even be killed still says what it hangs on.
use std::ffi::{CString, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use triage_host::facts::space::{self, How};
use triage_host::nvml::{self, Progress};

const USAGE: &str = "usage: triage-probe [--library PATH] [--scenario PATH] [--json]
       triage-probe --filesystems MS [--path PATH | --write PATH | --nvme DEVICE]...

Reads all NVIDIA GPUs through NVML and prints the reading as one JSON object.

  --library PATH   the NVML library (default: the loader's libnvidia-ml.so.1)
  --scenario PATH  scenario for the simulated library, handed to it as NVML_SIM_SCENARIO
  --json           print JSON; there is no other format

With --filesystems it asks filesystems and disks instead, all at once, for MS milliseconds, and prints one JSON object each.

  --path PATH      ask the filesystem mounted there how much room it has
  --write PATH     also write a file there that has no name
  --nvme DEVICE    read the health log of this NVMe controller (/dev/nvme0)

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
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|first| first == "--filesystems").is_some() {
        return filesystems(arguments);
    }
    match parse(arguments) {
        Ok(options) if options.help => print(USAGE.as_bytes()),
        Ok(options) => probe(options),
        Err(error) => {
            // A closed standard error leaves the exit status to say it.
            let _ = writeln!(std::io::stderr(), "triage-probe: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Asks filesystems. A thread that hangs in the kernel is left behind: the process ends without looking back.
fn filesystems(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    no_core_dumps();
    let asked =
        paths(arguments).map(|(paths, deadline)| space::ask(&paths, deadline, &mut std::io::stdout().lock()));
    let status = match asked {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            let _ = writeln!(std::io::stderr(), "triage-probe: {error}");
            1
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "triage-probe: {error}\n{USAGE}");
            2
        }
    };
    // SAFETY: ends the process; everything it had to say is written.
    unsafe { libc::_exit(status) }
}

/// What to ask, and for what.
type Asked = Vec<(String, How)>;

fn paths(mut arguments: impl Iterator<Item = OsString>) -> Result<(Asked, Duration), String> {
    let millis = arguments
        .next()
        .and_then(|word| word.to_str()?.parse().ok())
        .ok_or("--filesystems needs milliseconds")?;
    let mut paths = Vec::new();
    while let Some(argument) = arguments.next() {
        let Some((_, how)) = How::OPTIONS.into_iter().find(|(option, _)| argument == *option) else {
            return Err(format!("unknown argument {}", argument.display()));
        };
        let path = arguments.next().and_then(|path| path.into_string().ok());
        paths.push((path.ok_or_else(|| format!("{} needs a path", argument.display()))?, how));
    }
    Ok((paths, Duration::from_millis(millis)))
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
