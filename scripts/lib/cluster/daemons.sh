# slurmctld and the slurmd: starting, telling whether they run, ending.
# shellcheck shell=bash disable=SC2154

daemon_names() { printf 'slurmctld\n' && node_names; }

log_of() {
    if [[ $1 == slurmctld ]]; then printf '%s\n' "$dir/log/slurmctld.log"; else printf '%s\n' "$dir/nodes/$1/slurmd.log"; fi
}

# runs_with PID COMM ARGUMENT...: whether PID is a process named COMM that was given each ARGUMENT.
# A pid file alone proves nothing: its number may long belong to somebody else.
runs_with() {
    local pid=$1 comm=$2 want
    shift 2
    [[ $pid =~ ^[0-9]+$ && $(cat "/proc/$pid/comm" 2>/dev/null) == "$comm" ]] || return 1
    for want in "$@"; do
        tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qxF -- "$want" || return 1
    done
}

# arguments NAME: what tells this cluster's daemon NAME from any other, one a line.
arguments() {
    printf '%s\n' "$dir/etc/slurm.conf"
    [[ $1 == slurmctld ]] || printf '%s\n' "$1"
}

# daemon_pid NAME: its pid if it runs.
daemon_pid() {
    local pid comm=slurmd args
    [[ $1 != slurmctld ]] || comm=slurmctld
    pid=$(cat "$dir/run/$1.pid" 2>/dev/null) || return 1
    mapfile -t args < <(arguments "$1")
    runs_with "$pid" "$comm" "${args[@]}" && printf '%s\n' "$pid"
}

all_alive() {
    local name
    for name in $(daemon_names); do daemon_pid "$name" >/dev/null || return 1; done
}

start_daemon() {
    daemon_pid "$1" >/dev/null && return
    local command=(slurmctld -f "$dir/etc/slurm.conf")
    [[ $1 == slurmctld ]] || command=(slurmd -N "$1" -f "$dir/etc/slurm.conf")
    # A daemon may not hold our locks, our terminal or our caller's pipes.
    (
        cd /
        exec env -i PATH="$PATH" SLURM_CONF="$dir/etc/slurm.conf" SLURM_TRIAGE_CLUSTER="$dir" LANG=C.UTF-8 \
            "${enter_root[@]}" "${command[@]}"
    ) 9>&- </dev/null >>"$(log_of "$1").start" 2>&1 || start_failed "$1"
    wait_for 60 daemon_pid "$1" >/dev/null || start_failed "$1"
}

start_failed() {
    tail -n 5 "$(log_of "$1").start" "$(log_of "$1")" >&2 2>/dev/null || true
    if [[ $1 != slurmctld ]] && grep -qs 'Duplicated NodeHostName' "$(log_of "$1")" "$(log_of slurmctld)"; then
        die "this Slurm allows one slurmd a host" 'one built with --enable-multiple-slurmd, as Debian builds it'
    fi
    die "$1 did not start" "read $(log_of "$1")"
}

# apply_config: daemons that were running read a changed slurm.conf.
apply_config() {
    [[ -n $config_changed ]] || return 0
    in_client scontrol reconfigure
}

# in_client COMMAND...: runs one of Slurm's commands against this cluster, for at most 30 s.
in_client() { SLURM_CONF=$dir/etc/slurm.conf in_slurm timeout 30 "$@"; }

wait_until_ready() {
    wait_for 120 ready_or_dead || true
    local name
    for name in $(daemon_names); do daemon_pid "$name" >/dev/null || start_failed "$name"; done
    nodes_ready || {
        in_client sinfo -N -o '%N %T %E' >&2 || true
        die 'nodes did not become ready within 120 s' "read $(log_of slurmctld) and $dir/nodes/*/slurmd.log"
    }
}

ready_or_dead() { ! all_alive || nodes_ready; }

# nodes_ready: every node has registered; drained ones count, for only a person may resume them.
nodes_ready() {
    local states
    states=$(in_client sinfo -h -N -o '%T' 2>/dev/null) || return 1
    [[ $(grep -c . <<<"$states") -ge ${settings[nodes]} ]] || return 1
    ! grep -qE 'unknown|down|\*' <<<"$states"
}

# end_process PID COMM ARGUMENT...: SIGTERM, and SIGKILL if it is still there after 20 s. A slurmctld on a busy machine
# needs some of them to save its state.
end_process() {
    kill -TERM "$1" 2>/dev/null || return 0
    wait_for 20 gone "$@" && return
    kill -KILL "$1" 2>/dev/null || return 0
    wait_for 5 gone "$@" || die "process $1 ($2) does not end"
}

gone() { ! runs_with "$@"; }

stop_daemon() {
    local pid comm=slurmd args
    pid=$(daemon_pid "$1") || return 0
    [[ $1 != slurmctld ]] || comm=slurmctld
    mapfile -t args < <(arguments "$1")
    end_process "$pid" "$comm" "${args[@]}"
}

stop_all() {
    local name
    for name in $(daemon_names); do stop_daemon "$name" & done
    wait
    end_strays
}
