//! The sections of `triage.toml`, each key with its default and where the figure comes from.
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use triage_core::checks::{CheckSettings, Expect};

use super::values;

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Where things are.
    pub paths: Paths,
    /// How to talk to Slurm.
    pub slurm: Slurm,
    /// How long anything may take.
    pub deadlines: Deadlines,
    /// Where the kernel's messages are read.
    pub kernel_log: KernelLog,
    /// GPUs through NVML.
    pub nvml: Nvml,
    /// What is read of a job's output.
    pub output: Output,
    /// The node's database.
    pub ledger: Ledger,
    /// What the suite says about itself.
    pub log: Log,
    /// Figures for a monitoring system.
    pub metrics: Metrics,
    /// What the site says of single state checks, by name.
    pub checks: CheckSettings,
    /// What this node should have.
    pub expect: Expect,
    /// From how many repeats on something is a fault, by rate.
    pub rates: triage_core::serd::Thresholds,
}

/// `[paths]`: absolute; `%n` stands for the node's name, as in slurm.conf.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Paths {
    /// Folder of the ledger. Must be on a filesystem of this machine.
    #[serde(deserialize_with = "values::path")]
    pub state: PathBuf,
    /// Folder of what a reboot may forget: the spool, pid files.
    #[serde(deserialize_with = "values::path")]
    pub run: PathBuf,
    /// The policy file.
    #[serde(deserialize_with = "values::path")]
    pub policy: PathBuf,
    /// Folder with the site's own catalogue files.
    #[serde(deserialize_with = "values::path")]
    pub catalog: PathBuf,
    /// Folder of `triage-probe` and the other executables.
    #[serde(deserialize_with = "values::path")]
    pub libexec: PathBuf,
    /// Folder of the site's own checks.
    #[serde(deserialize_with = "values::path")]
    pub checks: PathBuf,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            state: "/var/lib/slurm-triage".into(),
            run: "/run/slurm-triage".into(),
            policy: "/etc/slurm-triage/policy.toml".into(),
            catalog: "/etc/slurm-triage/catalog.d".into(),
            libexec: "/usr/lib/slurm-triage".into(),
            checks: "/etc/slurm-triage/checks.d".into(),
        }
    }
}

/// `[slurm]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Slurm {
    /// `scontrol`, absolute: slurmd gives its hooks no `PATH`, and none would be trusted.
    #[serde(deserialize_with = "values::path")]
    pub scontrol: PathBuf,
    /// `SLURM_CONF` for scontrol. Without it the hook's own `SLURM_CONF` is passed on, or scontrol's default holds.
    #[serde(deserialize_with = "values::optional_path")]
    pub conf: Option<PathBuf>,
    /// `topology.yaml` or `topology.conf`, for the brake on drains below one switch. Without it the one beside slurm.conf is read.
    #[serde(deserialize_with = "values::optional_path")]
    pub topology: Option<PathBuf>,
    /// `command_deadline_ms`: longest one scontrol may take. scontrol itself retries a controller that is away
    /// without bound; an idle controller answers in about 10 ms (tried on 22.05).
    #[serde(rename = "command_deadline_ms", deserialize_with = "values::millis")]
    pub command_deadline: Duration,
}

impl Default for Slurm {
    fn default() -> Self {
        Self {
            scontrol: "/usr/bin/scontrol".into(),
            conf: None,
            topology: None,
            command_deadline: Duration::from_millis(3_000),
        }
    }
}

/// `[deadlines]`: after these a hook ends, whatever it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Deadlines {
    /// `prolog_ms`. slurmd delays the job's start by as much; Slurm's own limit is PrologEpilogTimeout, by default none.
    #[serde(rename = "prolog_ms", deserialize_with = "values::millis")]
    pub prolog: Duration,
    /// `epilog_ms`. The node stays COMPLETING as long.
    #[serde(rename = "epilog_ms", deserialize_with = "values::millis")]
    pub epilog: Duration,
    /// `healthcheck_ms`: below the 60 s after which slurmd kills HealthCheckProgram.
    #[serde(rename = "healthcheck_ms", deserialize_with = "values::healthcheck_millis")]
    pub healthcheck: Duration,
    /// `probe_ms`: one sweep over all GPUs. A sick GPU blocks it in the kernel; then the hang is the finding.
    #[serde(rename = "probe_ms", deserialize_with = "values::millis")]
    pub probe: Duration,
    /// `finisher_s`: how long the detached finisher of a requeue waits for the job's last epilog. Slurm clears the
    /// begin time by itself about 121 s after that, so a later finisher has nothing left to do.
    #[serde(rename = "finisher_s", deserialize_with = "values::seconds")]
    pub finisher: Duration,
    /// `mount_ms`: how long one filesystem may take to answer statvfs(2). A healthy one needs a millisecond; an NFS
    /// server that fails over may need longer than this, which is why a hang alone drains nothing.
    #[serde(rename = "mount_ms", deserialize_with = "values::millis")]
    pub mount: Duration,
    /// `site_check_ms`: longest one of the site's own checks may take.
    #[serde(rename = "site_check_ms", deserialize_with = "values::millis")]
    pub site_check: Duration,
    /// `site_checks_ms`: longest all of them together may take.
    #[serde(rename = "site_checks_ms", deserialize_with = "values::millis")]
    pub site_checks: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            prolog: Duration::from_millis(2_000),
            epilog: Duration::from_millis(10_000),
            healthcheck: Duration::from_millis(45_000),
            probe: Duration::from_millis(20_000),
            finisher: Duration::from_secs(600),
            mount: Duration::from_millis(3_000),
            site_check: Duration::from_millis(10_000),
            site_checks: Duration::from_millis(20_000),
        }
    }
}

/// `[kernel_log]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KernelLog {
    /// Where the kernel's messages are read.
    pub source: KernelLogSource,
    /// The file, for `source = "file"`.
    #[serde(deserialize_with = "values::path")]
    pub path: PathBuf,
    /// For tests and drills: also take `/dev/kmsg` records that a program wrote (another facility than kern), and mark
    /// what comes of them as synthetic.
    pub admit_user_facility: bool,
    /// `max_kib`: most text one pass takes from the log, in KiB; the rest is left for the next pass. The kernel's own
    /// buffer is 2048 KiB at most on common machines.
    #[serde(rename = "max_kib", deserialize_with = "values::kib")]
    pub max_bytes: usize,
}

impl Default for KernelLog {
    fn default() -> Self {
        Self {
            source: KernelLogSource::Kmsg,
            path: "/var/log/kern.log".into(),
            admit_user_facility: false,
            max_bytes: 8192 * 1024,
        }
    }
}

/// Where the kernel's messages are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelLogSource {
    /// `/dev/kmsg`: complete, with sequence numbers, and a program cannot pose as the kernel.
    Kmsg,
    /// A file a log daemon writes.
    File,
}

/// `[nvml]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Nvml {
    /// Whether GPUs are looked at through NVML.
    pub enabled: NvmlEnabled,
    /// The library: a path, or a name for the dynamic linker.
    #[serde(deserialize_with = "values::library")]
    pub library: PathBuf,
    /// Scenario file of the simulated NVML; of no meaning to the real one.
    #[serde(deserialize_with = "values::optional_path")]
    pub scenario: Option<PathBuf>,
}

impl Default for Nvml {
    fn default() -> Self {
        Self { enabled: NvmlEnabled::Auto, library: "libnvidia-ml.so.1".into(), scenario: None }
    }
}

/// When the probe is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NvmlEnabled {
    /// Where `/dev/nvidiactl` or the driver's folder in `/proc` exists, or a scenario is set.
    Auto,
    /// On every sweep.
    Always,
    /// Never.
    Never,
}

/// `[output]`: what is read of what a job printed, with the rights of the job's owner.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Whether it is read at all.
    pub enabled: bool,
    /// `head_kib`: bytes of the beginnings of all files of a job together: versions, addresses, ranks.
    #[serde(rename = "head_kib", deserialize_with = "values::output_kib")]
    pub head: u64,
    /// `tail_mib`: bytes of their ends together. 64 MiB of common training output are many hours, and are looked
    /// through within 0.1 s.
    #[serde(rename = "tail_mib", deserialize_with = "values::output_mib")]
    pub tail: u64,
    /// `deadline_ms`: after which what was read by then counts, and a reader that hangs is left behind.
    #[serde(rename = "deadline_ms", deserialize_with = "values::millis")]
    pub deadline: Duration,
}

impl Default for Output {
    fn default() -> Self {
        Self { enabled: true, head: 1024 << 10, tail: 64 << 20, deadline: Duration::from_millis(3_000) }
    }
}

/// `[ledger]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// `retain_days`: rows older than this are pruned by the health check.
    #[serde(deserialize_with = "values::days")]
    pub retain_days: u32,
    /// `max_mb`: size at which the oldest rows go early, in MB (10^6 bytes).
    #[serde(deserialize_with = "values::megabytes")]
    pub max_mb: u32,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { retain_days: 90, max_mb: 256 }
    }
}

/// `[log]`: what the suite says about itself. slurmd takes it from standard error into its own log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Log {
    /// The least important message that is still written.
    pub level: LogLevel,
    /// Also to syslog (facility daemon).
    pub syslog: bool,
    /// Each row of the ledger's trail to syslog, one line of JSON.
    pub audit_syslog: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: LogLevel::Info, syslog: false, audit_syslog: false }
    }
}

/// How important a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What looks wrong.
    Warn,
    /// What was done.
    Info,
    /// How it was done.
    Debug,
}

impl From<LogLevel> for log::LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::Error,
            LogLevel::Warn => Self::Warn,
            LogLevel::Info => Self::Info,
            LogLevel::Debug => Self::Debug,
        }
    }
}

/// `[metrics]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// The file that each health check writes anew, for `node_exporter`'s textfile collector; none: none is written.
    #[serde(deserialize_with = "values::optional_path")]
    pub textfile: Option<PathBuf>,
}
