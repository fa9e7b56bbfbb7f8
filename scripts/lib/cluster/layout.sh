# The cluster's folder: who may own it, what is where, and the settings it was made with.
# shellcheck shell=bash disable=SC2154  # dir, given and FIXED are set by scripts/cluster

# DIR/
#   settings              what `up` was told, one key=value a line
#   env.sh                for a shell that wants to use the cluster
#   etc/                  slurm.conf and its neighbours, triage.toml, policy.toml
#   bin/                  what slurm.conf names as Prolog, Epilog, HealthCheckProgram
#   hooks/                the suite's executables and plugin, copied so that a build cannot pull
#                         them from under a running cluster and any user can read them
#   clients/              with --slurm: sbatch, srun, ... of that installation
#   run/, log/, ctld/     pid files; logs of slurmctld and munged; slurmctld's state
#   dev/nX/nvidia0 ...    what gres.conf names
#   jobs/                 world-writable, for the output of jobs
#   nodes/nX/             gpus.toml, kern.log, break/ (files that start faults), state/ (the
#                         ledger), run/, spool/ (slurmd's own), slurmd.log

readonly MARK=settings
# shellcheck disable=SC2034  # read by scripts/cluster
readonly DEFAULT_DIR=/tmp/slurm-triage-cluster

declare -A settings=([nodes]=4 [gpus]=8 [slurm]=/ [hooks]='' [mode]=monitor [health-interval]=10
    [plugin]=yes [munge]='' [port]='')

set_get() { printf '%s\n' "${settings[$1]}"; }

node_names() { seq -f 'n%.0f' "${settings[nodes]}"; }

known_daemon() {
    [[ $1 == slurmctld ]] || node_names | grep -qxF -- "$1"
}

# Anybody can make a folder under /tmp: root must not follow one that is not its own.
check_dir() {
    [[ ! -L $dir && -d $dir ]] || die "not a folder: $dir" 'another --dir'
    [[ $(stat -c %u -- "$dir") == 0 ]] || die "belongs to another user: $dir" 'another --dir'
    [[ -f $dir/$MARK ]] || die "holds no cluster, so it is left alone: $dir" 'another --dir'
}

open_or_create_dir() {
    if [[ -e $dir || -L $dir ]]; then
        if [[ -d $dir && ! -L $dir && -O $dir && -z $(ls -A -- "$dir") ]]; then
            chmod 0755 -- "$dir"
            : >"$dir/$MARK"
        fi
        check_dir
    else
        mkdir -m 0755 -- "$dir" || die "cannot make $dir" 'another --dir'
        : >"$dir/$MARK"
    fi
    check_reachable
}

# Jobs run as their users and must get at their scripts, output and plugin.
check_reachable() {
    local up=$dir
    while [[ $up != / ]]; do
        up=${up%/*}
        up=${up:-/}
        [[ $(stat -c %A -- "$up") == *[xt] ]] ||
            die "users cannot enter $up, so their jobs could not run in $dir" '--dir under /tmp'
    done
}

# One `up` or `down` of a cluster at a time. Daemons must not inherit the lock (see 9>&-).
lock_dir() {
    exec 9<"$dir"
    flock -w 120 9 || die "another scripts/cluster is busy with $dir" 'once it has ended'
}

load_settings() {
    local key value
    [[ -e $dir/$MARK ]] || return 0
    while IFS='=' read -r key value; do
        [[ -z $key ]] || settings[$key]=$value
    done <"$dir/$MARK"
    set_enter_root
}

save_settings() {
    local key
    for key in "${!settings[@]}"; do
        printf '%s=%s\n' "$key" "${settings[$key]}"
    done | sort >"$dir/$MARK.new"
    mv -- "$dir/$MARK.new" "$dir/$MARK"
}

settle_settings() {
    local recorded='' key path
    [[ -s $dir/$MARK ]] && recorded=yes
    load_settings
    for key in slurm hooks; do
        path=${given[$key]:-}
        [[ -n $path ]] || continue
        given["$key"]=$(cd -- "$path" 2>/dev/null && pwd -P) || die "--$key: no folder $path"
    done
    for key in "${!given[@]}"; do
        if [[ -n $recorded && " ${FIXED[*]} " == *" $key "* && ${settings[$key]} != "${given[$key]}" ]]; then
            die "$dir was made with --$key ${settings[$key]}, not ${given[$key]}" "scripts/cluster down --dir $dir"
        fi
        settings[$key]=${given[$key]}
    done
    check_settings
    set_enter_root
}

check_settings() {
    whole nodes 1 "$((PORT_BLOCK - 1))"
    whole gpus 0 64
    whole health-interval 0 65533
    [[ ${settings[mode]} == monitor || ${settings[mode]} == act ]] ||
        die "--mode is monitor or act, not ${settings[mode]}"
    # Nothing would act: the suite itself comes with --hooks.
    [[ ${settings[mode]} == monitor || -n ${settings[hooks]} ]] ||
        die "--mode act does nothing without the suite's executables" '--hooks BIN_DIR, such as target/debug'
}

whole() {
    local n=${settings[$1]}
    if ! [[ $n =~ ^(0|[1-9][0-9]{0,4})$ ]] || ((n < $2 || n > $3)); then
        die "--$1 is a whole number from $2 to $3, not $n"
    fi
}
