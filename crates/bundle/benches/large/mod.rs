//! A bundle as large as they get: 64 nodes, 512 ranks, 1 GB of output, one GPU that fell off the bus.
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

const NODES: usize = 64;
const RANKS: usize = 8;

/// Bytes each rank printed before it ended: 1 GB altogether.
const PRINTED: usize = 2 << 20;

/// The rank whose GPU is lost.
const LOST: usize = 317;

/// Writes the bundle into an empty folder.
pub(crate) fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("output"))?;
    let names: Vec<String> = (1..=NODES).map(|n| format!("c{n:02}")).collect();
    fs::write(folder.join("incident.toml"), incident(&names))?;
    for (node, name) in names.iter().enumerate() {
        let place = folder.join("nodes").join(name);
        fs::create_dir_all(&place)?;
        fs::write(place.join("kernel.log"), kernel(node))?;
        fs::write(place.join("tasks.jsonl"), tasks(node))?;
    }
    let healthy = healthy();
    for rank in 0..NODES * RANKS {
        let mut text = healthy.clone();
        if rank != LOST {
            writeln!(text, "[rank{rank}]:[E504 13:18:20.000000000 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.").map_err(io::Error::other)?;
        }
        fs::write(folder.join(format!("output/rank-{rank:03}.log")), text)?;
    }
    Ok(())
}

fn incident(names: &[String]) -> String {
    let nodes: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = format!(
        "format = 1\n[job]\nid = \"815\"\nuser = \"ann\"\nnodes = [{}]\nstart = \"2026-05-04T12:00:00Z\"\n\
         end = \"2026-05-04T13:20:00Z\"\nstate = \"FAILED\"\nexit = \"1:0\"\nranks_per_node = {RANKS}\n",
        nodes.join(", ")
    );
    for (node, name) in names.iter().enumerate() {
        let _ = writeln!(
            text,
            "[nodes.{name}]\nboot = \"2026-05-01T08:00:00Z\"\naddresses = [\"10.9.0.{}\"]",
            node + 1
        );
    }
    text
}

fn kernel(node: usize) -> String {
    let mut text = String::from("2026-05-01T08:00:00,000000+00:00 Linux version 6.8.0 (builder@host)\n");
    for minute in 0..60 {
        for line in 0..20 {
            let _ = writeln!(
                text,
                "2026-05-04T12:{minute:02}:{line:02},000000+00:00 audit: type=1400 apparmor=\"STATUS\" operation=\"profile_load\" n={line}"
            );
        }
    }
    if node == LOST / RANKS {
        text.push_str("2026-05-04T13:08:20,000000+00:00 NVRM: Xid (PCI:0000:46:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n");
    }
    text
}

fn tasks(node: usize) -> String {
    let mut text = String::new();
    for local in 0..RANKS {
        let rank = node * RANKS + local;
        let record = |at: &str, what: &str, how: &str| {
            format!(
                "{{\"v\":1,\"at\":\"2026-05-04T{at}Z\",\"what\":\"{what}\",\"step\":0,\"rank\":{rank},\"local\":{local},\"pid\":{},\"gpus\":[\"0000:{:02x}:00.0\"]{how}}}\n",
                7000 + rank,
                0x41 + local
            )
        };
        text.push_str(&record("12:00:01.000000", "task_start", ""));
        let at = if rank == LOST { "13:08:21.000000" } else { "13:18:22.000000" };
        text.push_str(&record(at, "task_exit", ",\"signal\":6"));
    }
    text
}

fn healthy() -> String {
    let mut text = String::with_capacity(PRINTED + 512);
    let mut step = 0_u64;
    while text.len() < PRINTED {
        step += 1;
        let _ = writeln!(
            text,
            " [2026-05-04 12:{:02}:{:02}] iteration {step:8}/  500000 | consumed samples: {:12} | elapsed time per iteration (ms): 812.{} | learning rate: 1.5E-04 | lm loss: 2.{step:06}E+00 | grad norm: 0.312 | number of nan iterations:   0 |",
            step / 60 % 60,
            step % 60,
            step * 512,
            step % 10
        );
    }
    text
}
