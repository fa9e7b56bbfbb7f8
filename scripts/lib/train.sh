#!/usr/bin/env bash
# Stands in for a distributed training job: step lines, checkpoints, a restart from the last checkpoint,
# and the death such a job dies when one of its GPUs goes. Submit it on a cluster of scripts/cluster:
#
#   sbatch --nodes=2 --ntasks-per-node=8 --gres=gpu:8 scripts/lib/train.sh
#
# TRAIN_STEPS steps of about TRAIN_STEP_S seconds; a checkpoint every TRAIN_EVERY steps.
#SBATCH --job-name=train
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=train-%j.out
set -Eeuo pipefail

readonly STEPS=${TRAIN_STEPS:-60} STEP_S=${TRAIN_STEP_S:-0.2} EVERY=${TRAIN_EVERY:-5}

stamp() { date -u +%Y-%m-%dT%H:%M:%S.%6NZ; }

# The batch script: on the first node, once a run.
launch() {
    export TRAIN_CHECKPOINT=${SLURM_SUBMIT_DIR:-$PWD}/train-$SLURM_JOB_ID.checkpoint
    printf '%s start run=%s nodes=%s\n' "$(stamp)" "${SLURM_RESTART_COUNT:-0}" "$SLURM_JOB_NODELIST"
    # slurmd runs a copy of this file, so the ranks get that copy's text on their standard input.
    srun --kill-on-bad-exit=1 bash -c "$(cat "$0")" "$0" rank
    printf '%s done run=%s\n' "$(stamp)" "${SLURM_RESTART_COUNT:-0}"
}

# One rank: its GPU is the one with its number on its node, as torchrun has it.
rank() {
    local step=0 loss trigger=${SLURM_TRIAGE_DIR:?}/nodes/$SLURMD_NODENAME/break/gpu$SLURM_LOCALID
    if [[ -r $TRAIN_CHECKPOINT ]]; then
        step=$(<"$TRAIN_CHECKPOINT")
        [[ $SLURM_PROCID -ne 0 ]] || printf '%s resume step=%d\n' "$(stamp)" "$step"
    fi
    while ((step < STEPS)); do
        sleep "$STEP_S"
        [[ ! -e $trigger ]] || die_of_gpu
        step=$((step + 1))
        [[ $SLURM_PROCID -eq 0 ]] || continue
        loss=$((9000 / (step + 10)))
        printf '%s step=%d loss=%d.%02d\n' "$(stamp)" "$step" $((loss / 100)) $((loss % 100))
        if ((step % EVERY == 0)); then
            printf '%d\n' "$step" >"$TRAIN_CHECKPOINT.new"
            mv -- "$TRAIN_CHECKPOINT.new" "$TRAIN_CHECKPOINT"
            printf '%s checkpoint step=%d\n' "$(stamp)" "$step"
        fi
    done
}

# What PyTorch and NCCL print when a call to the driver fails.
die_of_gpu() {
    {
        printf '%s:%d:%d [%d] NCCL WARN Cuda failure 719 %s\n' \
            "$SLURMD_NODENAME" $$ $$ "$SLURM_LOCALID" "'unspecified launch failure'"
        printf '[rank%d]: torch.AcceleratorError: CUDA error: unspecified launch failure\n' "$SLURM_PROCID"
    } >&2
    exit 1
}

if [[ ${1:-} == rank ]]; then rank; else launch; fi
