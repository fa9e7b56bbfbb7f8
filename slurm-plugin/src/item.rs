//! What Slurm tells of the task. Every call is variadic C: the types below are those of the comments in `spank.h`.
use std::ffi::{CStr, c_char, c_int};
use std::time::{SystemTime, UNIX_EPOCH};

use triage_wire::{Step, TaskRecord, What};

use crate::ffi::{
    S_JOB_ARRAY_ID, S_JOB_ARRAY_TASK_ID, S_JOB_ID, S_JOB_STEPID, S_JOB_UID, S_SLURM_RESTART_COUNT,
    S_TASK_EXIT_STATUS, S_TASK_GLOBAL_ID, S_TASK_ID, S_TASK_PID, spank_get_item, spank_getenv, spank_item_t,
    spank_t,
};
use crate::{option, paths};

/// Slurm's "no value" (`NO_VAL` in slurm.h).
const NO_VAL: u32 = 0xffff_fffe;

/// The record of the task this hook is called for; `None` when Slurm does not even tell the job.
pub(crate) fn record(spank: spank_t, what: What) -> Option<TaskRecord> {
    let job = number(spank, S_JOB_ID)?;
    let array = number(spank, S_JOB_ARRAY_ID).zip(number(spank, S_JOB_ARRAY_TASK_ID));
    Some(TaskRecord {
        at_us: now_us(),
        what,
        // The cluster is told only by the step's environment, which is the user's; who reads the spool knows it.
        cluster: String::new(),
        node: paths::node().to_owned(),
        job,
        // Of a job that is no array task Slurm tells some array id and no task.
        array: array.filter(|(job, task)| *job != 0 && *task != NO_VAL),
        // 22.05 answers 0 in every run. The variable of that name is not there yet when a batch script starts, and is
        // the user's in an srun; half a truth would put the two ends of a task into different runs.
        restart: number(spank, S_SLURM_RESTART_COUNT).unwrap_or(0),
        step: Step::from_slurm(number(spank, S_JOB_STEPID).unwrap_or(0)),
        rank: number(spank, S_TASK_GLOBAL_ID).unwrap_or(0),
        local: signed(spank, S_TASK_ID).and_then(|id| u32::try_from(id).ok()).unwrap_or(0),
        pid: signed(spank, S_TASK_PID).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0),
        uid: number(spank, S_JOB_UID),
        triage: option::word().to_owned(),
        gpus: gpus(spank),
    })
}

/// The raw wait status; only the exit hook has one.
pub(crate) fn exit_status(spank: spank_t) -> Option<c_int> {
    signed(spank, S_TASK_EXIT_STATUS)
}

/// Items of 32 bits without sign.
fn number(spank: spank_t, item: spank_item_t) -> Option<u32> {
    let mut value: u32 = 0;
    // SAFETY: the items used with this function take a pointer to a 32-bit unsigned number (uid_t and uint32_t).
    let answer = unsafe { spank_get_item(spank, item, &raw mut value) };
    (answer == 0).then_some(value)
}

/// Items of the C type int, and pid_t, which is one.
fn signed(spank: spank_t, item: spank_item_t) -> Option<c_int> {
    let mut value: c_int = -1;
    // SAFETY: the items used with this function take a pointer to int or pid_t.
    let answer = unsafe { spank_get_item(spank, item, &raw mut value) };
    (answer == 0).then_some(value)
}

/// A variable of the step's environment. The user can set it.
fn env(spank: spank_t, name: &CStr) -> Option<String> {
    let mut buffer = [0 as c_char; 4096];
    let size = c_int::try_from(buffer.len()).ok()?;
    // SAFETY: the buffer has the size that is told; Slurm ends what it writes with a NUL or answers with an error.
    let answer = unsafe { spank_getenv(spank, name.as_ptr(), buffer.as_mut_ptr(), size) };
    if answer != 0 {
        return None;
    }
    let bytes: Vec<u8> = buffer.iter().map(|c| c.cast_unsigned()).take_while(|c| *c != 0).collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// GPUs as the environment names them: the step's, else the job's, by Slurm's own index; else what CUDA is to see. A
/// hint: the user can change it. A bare number of CUDA's is left out, for it counts from 0 within the job's own GPUs.
fn gpus(spank: spank_t) -> Vec<String> {
    let list = |name| {
        let all = env(spank, name).unwrap_or_default();
        all.split(',').map(str::trim).filter(|gpu| !gpu.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let of_slurm =
        [c"SLURM_STEP_GPUS", c"SLURM_JOB_GPUS"].into_iter().map(list).find(|gpus| !gpus.is_empty());
    of_slurm.unwrap_or_else(|| {
        let mut of_cuda = list(c"CUDA_VISIBLE_DEVICES");
        of_cuda.retain(|gpu| !gpu.bytes().all(|b| b.is_ascii_digit()));
        of_cuda
    })
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(0)
}
