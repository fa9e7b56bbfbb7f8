//! Breaking the simulated hardware of a node.

use crate::cluster::Cluster;
use std::fs::{self, OpenOptions};
use std::io::Write;

impl Cluster {
    /// Appends a line to the node's kernel log, stamped with the present time as rsyslog would.
    pub(crate) fn kernel_line(&self, node: &str, text: &str) {
        let path = self.node_dir(node).join("kern.log");
        let mut log = OpenOptions::new().append(true).open(path).expect("the node's kernel log opens");
        let now = jiff::Timestamp::now();
        // One write, as a logger does it: a reader never sees half a line.
        log.write_all(format!("{now:.6} {node} kernel: {text}\n").as_bytes())
            .expect("the kernel log takes a line");
    }

    /// Takes a GPU off the bus as NVML sees it: every call for it answers that it is lost.
    pub(crate) fn break_gpu(&self, node: &str, index: u32) {
        self.trigger(node, &format!("gpu{index}"));
    }

    /// Makes every call of NVML on the node block.
    pub(crate) fn hang_nvml(&self, node: &str) {
        self.trigger(node, "hang");
    }

    /// Mends what the two above broke.
    pub(crate) fn mend(&self, node: &str) {
        let files = fs::read_dir(self.node_dir(node).join("break")).into_iter().flatten().flatten();
        files.for_each(|file| fs::remove_file(file.path()).expect("the file that broke it goes"));
    }

    fn trigger(&self, node: &str, name: &str) {
        fs::write(self.node_dir(node).join("break").join(name), "")
            .expect("the file that breaks it is written");
    }
}
