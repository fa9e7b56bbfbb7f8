//! All that the scheduler holds, for tests that nothing has changed.

use crate::cluster::Cluster;
use crate::record::Record;

/// Values that move by themselves: loads, clocks, and how long ago something was.
const MOVING: [&str; 13] = [
    "CPULoad",
    "FreeMem",
    "LastBusyTime",
    "BootTime",
    "SlurmdStartTime",
    "CurrentWatts",
    "AveWatts",
    "ConsumedJoules",
    "ExtSensorsWatts",
    "ExtSensorsJoules",
    "ExtSensorsTemp",
    "RunTime",
    "LastSchedEval",
];

impl Cluster {
    /// Every node, partition, reservation and job, one field a line, less what moves by itself: Slurm forgets jobs that are
    /// over when it likes.
    pub(crate) fn snapshot(&self) -> String {
        self.snapshot_but_jobs() + &self.kind("job")
    }

    /// [`Cluster::snapshot`] without the jobs, which a test may need to run.
    pub(crate) fn snapshot_but_jobs(&self) -> String {
        ["node", "partition", "reservation"].map(|kind| self.kind(kind)).concat()
    }

    fn kind(&self, kind: &str) -> String {
        let out = self.scontrol(&["-o", "show", kind]).success("scontrol show");
        let mut text = String::new();
        for line in out.lines() {
            let mut record = Record::parse(line);
            if kind == "job" && !["PENDING", "RUNNING", "COMPLETING"].iter().any(|word| record.is(word)) {
                continue;
            }
            MOVING.iter().for_each(|key| record.remove(key));
            text.push_str(&record.to_string());
            text.push('\n');
        }
        text
    }
}
