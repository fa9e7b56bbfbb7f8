//! Lines of job output in wordings of many releases, and healthy output that sounds like trouble. What counts is what a
//! line is taken for, not which family takes it.
use triage_core::joblog::{is_candidate, read_line};
use triage_core::{Advice, CauseClass, Role};

/// A line, and the class and role it must get.
const FAULTS: &[(&str, &str, &str)] = &[
    // PyTorch's watchdog, stores and launchers.
    (
        "[rank9]:[E204 07:10:44.100000000 ProcessGroupNCCL.cpp:755] [PG ID 2 PG GUID 7 Rank 1] Work WorkNCCL(SeqNum=18, OpType=COALESCED, NumelIn=1, NumelOut=1, Timeout(ms)=300000) timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1).",
        "unknown",
        "symptom",
    ),
    (
        "[rank4]:[F204 07:12:00.1 ProcessGroupNCCL.cpp:1224] [PG 3 Rank 4] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
        "unknown",
        "symptom",
    ),
    (
        "[rank0]:[E204 07:12:00.2 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a global timeout from another rank and will start to dump the debug info. Last enqueued NCCL work: 12, last completed NCCL work: 11.",
        "unknown",
        "symptom",
    ),
    (
        "[rank7]:[W204 07:13:00.3 ProcessGroupNCCL.cpp:1662] [PG ID 0 PG GUID 0 Rank 7] Failed to check the \"should dump\" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe",
        "unknown",
        "symptom",
    ),
    (
        "[E socket.cpp:860] [c10d] The client socket has timed out after 120s while trying to connect to 10.30.0.5:29411",
        "network",
        "either",
    ),
    (
        "[E204 07:13:00.4 TCPStore.cpp:346] [c10d] TCP client failed to connect/validate to host gpu-a07:29500 - timed out (try=1, timeout=300000ms): Connection reset by peer",
        "unknown",
        "symptom",
    ),
    (
        "torch.multiprocessing.spawn.ProcessExitedException: process 5 terminated with signal SIGABRT",
        "unknown",
        "symptom",
    ),
    (
        "ray.exceptions.NodeDiedError: Task was killed due to the node it was running on having died or become unavailable.",
        "unknown",
        "symptom",
    ),
    (
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "unknown",
        "symptom",
    ),
    ("RuntimeError: Pin memory thread exited unexpectedly", "unknown", "symptom"),
    (
        "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 8192 vs 8100",
        "unknown",
        "symptom",
    ),
    // NCCL and its plug-ins.
    (
        "[gpu-a07:pid=812] NCCL WARN socketPollConnect poll() failed, ret 1, error Connection timed out, revents 8, connect to 10.30.0.9:39001",
        "network",
        "either",
    ),
    (
        "gpu-a07:812:901 [4] misc/socket.cc:586 NCCL WARN socketPollConnect poll() returned 1, no POLLOUT events",
        "unknown",
        "symptom",
    ),
    (
        "gpu-a07:812:901 [4] proxy.cc:1097 NCCL WARN Proxy Call to rank 21 failed (Connect)",
        "unknown",
        "symptom",
    ),
    (
        "gpu-a07:812:901 [4] proxy.cc:1458 NCCL WARN [Service thread] Accept failed Success",
        "unknown",
        "symptom",
    ),
    (
        "gpu-a07:812:901 [4] misc/argcheck.cc:39 NCCL WARN Reduce : invalid root 16 (root should be in the 0..16 range)",
        "application",
        "root",
    ),
    ("gpu-a07:812:901 [4] init.cc:1623 NCCL WARN Invalid rank requested : 16/16", "application", "root"),
    ("gpu-a07:812:901 [4] transport/net_ib.cc:640 NCCL WARN NET/IB : No device found.", "system", "root"),
    (
        "gpu-a07:812:901 [4] graph/topo.cc:400 NCCL WARN Could not find real path of /sys/class/pci_bus/0000:5d/../../0000:5d:00.0",
        "system",
        "root",
    ),
    (
        "gpu-a07:812:901 [4] misc/new.cc:12 NCCL WARN Words of a release to come: shard 3 gone",
        "unknown",
        "symptom",
    ),
    (
        "WARN: Function: create_nccl_ofi_component Line: 470: NET/OFI Couldn't open CQ. RC: -12, ERROR: Cannot allocate memory",
        "system",
        "root",
    ),
    (
        "libfabric:812:1740000000::efa:cq:efa_rdm_rxe_handle_error():701<warn> err: 21, message: Unresponsive receiver (connection never established or unknown) My EFA addr: fi_addr_efa://[fe80::1]:0:1 (13)",
        "network",
        "root",
    ),
    (
        "Last error: socketPollConnect: connect to 10.30.0.9<51002> returned Connection reset by peer",
        "network",
        "either",
    ),
    // CUDA.
    (
        "worker-2: RuntimeError: CUDA error: uncorrectable ECC error encountered CUDA kernel errors might be asynchronously reported at some other API call",
        "hardware",
        "root",
    ),
    (
        "Unable to determine the device handle for GPU5: 0000:c1:00.0: GPU is lost.  Reboot the system to recover this GPU",
        "hardware",
        "root",
    ),
    ("pynvml.NVMLError_GpuIsLost: GPU is lost", "hardware", "root"),
    (
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmStridedBatchedEx(handle, opa, opb)`",
        "application",
        "root",
    ),
    (
        "W external/xla/xla/tsl/framework/bfc_allocator.cc:497] Allocator (GPU_3_bfc) ran out of memory trying to allocate 4.00GiB (rounded to 4294967296)requested by op",
        "application",
        "root",
    ),
    // JAX.
    (
        "jax.errors.JaxRuntimeError: UNAVAILABLE: failed to connect to all addresses; last error: UNKNOWN: ipv4:10.30.0.2:8476: Failed to connect to remote host: Connection refused",
        "unknown",
        "symptom",
    ),
    (
        "rendezvous.cc:104] Termination timeout for `all-reduce participant 1` of 40 seconds exceeded. Exiting to ensure a consistent program state.",
        "unknown",
        "symptom",
    ),
    // MPI, UCX, PMIx.
    ("Fatal error in PMPI_Bcast: Other MPI error, error stack:", "unknown", "symptom"),
    ("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "unknown", "symptom"),
    (
        "prterun noticed that process rank 4 with PID 3311 on node gpu-a07 exited on signal 9 (Killed).",
        "unknown",
        "symptom",
    ),
    ("PRTE has lost communication with a remote daemon.", "network", "either"),
    (
        "[gpu-a07:3311:0:3311] ib_mlx5_log.c:177  Local QP operation on mlx5_4:1/IB (synd 0x2 vend 0x68 hw_synd 0/58)",
        "system",
        "either",
    ),
    (
        "[1740000000.1] [gpu-a07:3311:0]  sock.c:334  UCX  ERROR   connect(fd=58, dest_addr=10.30.0.4:35001) failed: No route to host",
        "network",
        "either",
    ),
    (
        "slurmstepd: error:  mpi/pmix_v3: _tcp_connect: gpu-a07 [0]: pmixp_dconn_tcp.c:139: Cannot establish the connection",
        "network",
        "either",
    ),
    (
        "slurmstepd: error:  mpi/pmix_v4: pmixp_coll_ring_reset_if_to: gpu-a07 [2]: pmixp_coll_ring.c:742: 0x15: collective timeout seq=3",
        "unknown",
        "symptom",
    ),
    ("pdsh@login2: gpu-a07: ssh exited with exit code 255", "network", "either"),
    // Slurm.
    ("srun: error: Application launch failed: Socket timed out on send/recv operation", "system", "symptom"),
    (
        "srun: error: slurm_receive_msgs: [[gpu-a07]:6818] failed: Socket timed out on send/recv operation",
        "system",
        "either",
    ),
    (
        "srun: error: Unable to confirm allocation for job 8181: Unable to contact slurm controller (connect failure)",
        "system",
        "either",
    ),
    (
        "srun: error: Unable to create step for job 8181: More processors requested than permitted",
        "application",
        "root",
    ),
    (
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
        "application",
        "root",
    ),
    (
        "slurmstepd: error: container_g_join: open failed /local/8181/.ns: No such file or directory",
        "system",
        "root",
    ),
    (
        "slurmstepd: error: Munge decode failed: Unauthorized credential for client UID=7001 GID=700",
        "system",
        "root",
    ),
    (
        "slurmstepd: error: couldn't chdir to `/proj/u/run': No such file or directory: going to /tmp instead",
        "system",
        "either",
    ),
    (
        "slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1",
        "system",
        "symptom",
    ),
    // Programs.
    ("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", "application", "root"),
    ("pretrain.py: error: unrecognized arguments: --sequence-paralel", "application", "root"),
    (
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded with url: /api/models/m",
        "network",
        "either",
    ),
    ("[gpu-a07:3311] Signal: Bus error (7)", "unknown", "either"),
    ("Segmentation fault (core dumped)", "unknown", "symptom"),
];

/// Healthy output, and lines that carry nothing: none may ask for anything.
const HEALTHY: &[&str] = &[
    "gpu-a07:812:812 [0] NCCL INFO Call to connect returned Connection refused, retrying",
    "NCCL INFO socketPollConnect: connect returned Connection timed out, retrying (1/34) after sleep for 100 msec",
    "gpu-a07:812:812 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]",
    "gpu-a07:812:812 [0] NCCL INFO TUNER/Plugin: Failed to find ncclTunerPlugin_v3 symbol.",
    "gpu-a07:812:812 [0] NCCL INFO comm 0x55aa rank 3 nranks 8 cudaDev 3 busId 9b000 - Abort COMPLETE",
    "xla_bridge.py:660] Unable to initialize backend 'rocm': NOT_FOUND: Could not find registered platform with name: \"rocm\".",
    "xla_bridge.py:660] Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open shared object file",
    "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.2GiB with freed_by_count=0. The caller indicates that this is not a failure",
    "WARNING Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError: [Errno 101] Network is unreachable': /simple/torch/",
    "Retrying after OSError: [Errno 110] Connection timed out (attempt 1/3)",
    "wandb: Network error (ConnectTimeout), entering retry loop.",
    "[W503 01:52:07.5 socket.cpp:204] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
    "epoch 3 step 4100 error_rate=0.031 timeout=1800 failed=0",
    "eval/word_error_rate 0.1184 | eval/failed_samples 3 | core dump disabled",
    "srun: Job step creation temporarily disabled, retrying (Requested nodes are busy)",
    "[torchtitan] step: 100 loss: 3.10 num_ooms: 0 num_alloc_retries: 0",
    "INFO:root:Caught exception ValueError('bad sample'), skipping sample 10231",
];

#[test]
fn lines_in_the_wording_of_any_release_are_taken_for_what_they_are() {
    let catalog = triage_catalog::embedded();
    let mut wrong = Vec::new();
    for (line, class, role) in FAULTS {
        let found = read_line(&catalog, line.as_bytes()).map(|m| {
            let role = if m.role == Role::Teardown { Role::Symptom } else { m.role };
            (m.class.word(), role.word())
        });
        if found != Some((*class, *role)) || !is_candidate(line.as_bytes()) {
            wrong.push(format!("{line}\n    wanted {class} {role}, got {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), FAULTS.len(), wrong.join("\n"));
}

#[test]
fn healthy_output_that_sounds_like_trouble_asks_for_nothing() {
    let catalog = triage_catalog::embedded();
    for line in HEALTHY {
        let Some(meaning) = read_line(&catalog, line.as_bytes()) else { continue };
        assert!(
            meaning.class == CauseClass::None || matches!(meaning.action, Advice::None | Advice::Watch),
            "{}: {line}",
            meaning.code
        );
    }
}
