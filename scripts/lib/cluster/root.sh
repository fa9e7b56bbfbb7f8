# Running the Slurm of this machine, or with --slurm the one of another root.
# shellcheck shell=bash disable=SC2154

other_root() { [[ ${settings[slurm]} != / ]]; }

# in_slurm COMMAND...: runs COMMAND where Slurm is installed.
in_slurm() { "${enter_root[@]}" "$@"; }

# set_enter_root: what stands before a command to run it in the other root; `env` alone changes
# nothing. The mounts live in a namespace of that one process and go with it: none is left behind.
set_enter_root() {
    enter_root=(env)
    ! other_root ||
        enter_root=(unshare --mount --propagation private bash -c "$ENTER_ROOT" enter "${settings[slurm]}" "$dir")
}

# shellcheck disable=SC2016  # expanded by the inner shell
readonly ENTER_ROOT='
    set -e
    root=$1 dir=$2
    shift 2
    mkdir -p "$root$dir"
    here=$PWD
    for d in proc sys dev; do mount --rbind "/$d" "$root/$d"; done
    mount --bind "$dir" "$root$dir"
    # What a job is submitted in is where it writes.
    [ -d "$root$here" ] || here=/
    exec chroot "$root" /usr/bin/env --chdir="$here" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"'

check_slurm() {
    local name missing=()
    for name in slurmctld slurmd scontrol sinfo sbatch; do
        in_slurm sh -c "command -v $name" >/dev/null || missing+=("$name")
    done
    if [[ ${#missing[@]} -gt 0 ]]; then
        local where=''
        ! other_root || where="chroot ${settings[slurm]} "
        die "not installed: ${missing[*]}" "${where}apt-get install slurmctld slurmd slurm-client"
    fi
    type -P munged >/dev/null || die 'not installed: munged' 'apt-get install munge'
    type -P flock setpriv >/dev/null || die 'not installed: flock, setpriv' 'apt-get install util-linux'
}

# slurm_version: major.minor.micro.
slurm_version() {
    in_slurm slurmctld -V | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1
}

# slurm_at_least MAJOR MINOR
slurm_at_least() {
    local major minor
    IFS=. read -r major minor _ < <(slurm_version)
    ((10#$major > $1 || (10#$major == $1 && 10#$minor >= $2)))
}

# Removes the empty folder that in_slurm mounted the cluster's on. Folders above it stay: some of
# them, like an empty /tmp, are the installation's own.
leave_root() {
    ! other_root || rmdir -- "${settings[slurm]}$dir" 2>/dev/null || true
}
