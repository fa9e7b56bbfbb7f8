# One drill: a cluster, a job on it, and a GPU that falls off the bus under the job.
# shellcheck shell=bash disable=SC2154  # dir, bin and here are set by scripts/quickstart

# The fourth GPU of a node: its index, and where the simulated NVML has it on the bus.
readonly GPU=3 GPU_PCI=0000:61:00

# drill MODE: leaves mode, job, bad (the node) and fault_at for what comes after.
drill() {
    mode=$1
    "$here/cluster" up --dir "$dir" --hooks "$bin" --mode "$mode" --health-interval 5
    # shellcheck source=/dev/null
    . "$dir/env.sh"
    job=$(cd "$dir/jobs" && runuser -u nobody -- sbatch --parsable --nodes=2 --ntasks-per-node=8 --gres=gpu:8 \
        <"$here/lib/train.sh")
    printf 'job %s trains on two nodes\n' "$job"
    wait_for 90 saved_a_checkpoint || give_up 'the job wrote no checkpoint'
    bad=$(job_field BatchHost)
    break_gpu
    if [[ $mode == monitor ]]; then
        wait_for 120 job_ended FAILED || give_up 'the job did not fail with its GPU'
    else
        wait_for 240 job_ended COMPLETED || give_up 'the job did not finish on other nodes'
    fi
}

break_gpu() {
    fault_at=$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)
    printf '%s %s kernel: NVRM: Xid (PCI:%s): 79, pid=%s, name=%s, GPU has fallen off the bus.\n' \
        "$fault_at" "$bad" "$GPU_PCI" "'<unknown>'" '<unknown>' >>"$dir/nodes/$bad/kern.log"
    : >"$dir/nodes/$bad/break/gpu$GPU"
    printf 'broke GPU %d (%s) of %s\n' "$GPU" "$GPU_PCI" "$bad"
}

output() { printf '%s\n' "$dir/jobs/train-$job.out"; }

saved_a_checkpoint() { grep -qs ' checkpoint ' "$(output)"; }

# job_field NAME: a field of `scontrol show job` whose value has no spaces.
job_field() {
    scontrol -o show job "$job" | tr ' ' '\n' | sed -n "s/^$1=//p" | head -n 1
}

job_ended() { [[ $(job_field JobState) == "$1" ]]; }

node_state() { sinfo -h -n "$1" -o '%T|%E'; }

# triage ARGUMENT...: the operator's command, over the bad node's ledger.
triage() { slurm-triage --config "$dir/etc/triage.toml" --node "$bad" "$@"; }

show_why() {
    printf '\n$ slurm-triage --config %s --node %s why %s\n' "$dir/etc/triage.toml" "$bad" "$job"
    triage why "$job"
}

give_up() {
    squeue --all >&2 || true
    sinfo -N -o '%N %T %E' >&2 || true
    tail -n 15 "$(output)" >&2 || true
    grep -hE 'triage|rolog|pilog' "$dir/nodes/${bad:-n1}/slurmd.log" | tail -n 15 >&2 || true
    die "$1" "scripts/quickstart --keep, and read $dir/nodes/*/slurmd.log"
}

judge_monitor() {
    [[ $(node_state "$bad") != *drain* ]] || give_up "monitor mode drained $bad"
    [[ $(job_field Restarts) == 0 ]] || give_up 'monitor mode requeued the job'
    triage --json why "$job" | jq -e '[.. | objects | .intent? | select(. == "drain")] | length > 0' >/dev/null ||
        give_up 'no decision to drain was written down'
}

judge_act() {
    local reason=slurm-triage
    [[ $(node_state "$bad") == *drain*"|$reason: xid.79 "* ]] || give_up "$bad is not drained with our reason"
    scontrol show hostnames "$(job_field NodeList)" | grep -qxF "$bad" && give_up "the job ran again on $bad"
    [[ $(job_field Restarts) == 1 ]] || give_up 'the job was not requeued exactly once'
}
