# What a cluster leaves when its daemons end: slurmstepd, the tasks below them, detached hooks.
# shellcheck shell=bash disable=SC2154

# end_strays: SIGKILL until none is left. A task may fork while we look, so look more than once.
end_strays() {
    local round pids
    for ((round = 0; round < 50; round++)); do
        mapfile -t pids < <(strays)
        [[ ${#pids[@]} -gt 0 ]] || return 0
        kill -KILL "${pids[@]}" 2>/dev/null || true
        sleep 0.1
    done
    die "processes of the cluster do not end: ${pids[*]}"
}

# strays: pids that are certainly this cluster's, and everything below them.
strays() {
    local roots
    roots=$(marked | xargs)
    [[ -n $roots ]] || return 0
    descendants "$roots"
}

# Ours by what started them: the marker in their environment (slurmd and the hooks carry it), or
# for a slurmstepd, which overwrites its environment with its title, slurmd's log held open.
marked() {
    local proc pid
    for proc in /proc/[0-9]*; do
        pid=${proc#/proc/}
        [[ $pid != "$$" && $pid != "$BASHPID" ]] || continue
        if grep -qzxF -- "SLURM_TRIAGE_CLUSTER=$dir" "$proc/environ" 2>/dev/null; then
            printf '%s\n' "$pid"
        elif [[ $(cat "$proc/comm" 2>/dev/null) == slurmstepd ]] && holds_log "$proc"; then
            printf '%s\n' "$pid"
        fi
    done
}

holds_log() {
    find "$1/fd" -mindepth 1 -lname "*$dir/nodes/*/slurmd.log" -print -quit 2>/dev/null | grep -q .
}

# descendants "PID...": those that still run and all below them; a zombie is already gone.
descendants() {
    local stat rest pid ppid state
    for stat in /proc/[0-9]*/stat; do
        rest=$(cat "$stat" 2>/dev/null) || continue
        pid=${rest%% *}
        # The name may hold spaces and brackets; what counts comes after the last one.
        read -r state ppid _ <<<"${rest##*) }"
        printf '%s %s %s\n' "$pid" "$ppid" "$state"
    done | awk -v roots="$1" '
        { parent[$1] = $2; state[$1] = $3 }
        END {
            n = split(roots, r, " ")
            for (i = 1; i <= n; i++) mine[r[i]] = 1
            do {
                grew = 0
                for (p in parent) if (!(p in mine) && (parent[p] in mine)) { mine[p] = 1; grew = 1 }
            } while (grew)
            for (p in mine) if ((p in state) && state[p] != "Z") print p
        }'
}
