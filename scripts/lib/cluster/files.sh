# The cluster's tree of files, and what a shell needs to use it.
# shellcheck shell=bash disable=SC2154

make_tree() {
    local n i
    mkdir -p "$dir"/{etc/catalog.d,bin,hooks,clients,run,log,ctld}
    install -d -m 1777 "$dir/jobs"
    for n in $(node_names); do
        mkdir -p "$dir/nodes/$n"/{break,state,run,spool} "$dir/dev/$n"
        install -d -m 0700 "$dir/nodes/$n/run/spool"
        [[ -e $dir/nodes/$n/kern.log ]] || : >"$dir/nodes/$n/kern.log"
        [[ -e $dir/nodes/$n/gpus.toml ]] || write_scenario "$n" >"$dir/nodes/$n/gpus.toml"
        for ((i = 0; i < settings[gpus]; i++)); do
            fake_device "$dir/dev/$n/nvidia$i"
        done
    done
}

# fake_device PATH: slurmd wants a device file and never opens it, so this is another /dev/null.
# Where devices cannot be made a plain file does, but jobs get no CUDA_VISIBLE_DEVICES then.
fake_device() {
    [[ -e $1 ]] || mknod -m 0666 "$1" c 1 3 2>/dev/null || : >"$1"
}

# The simulated GPUs of a node, healthy until a file appears in its break/ folder.
write_scenario() {
    local i
    printf 'format = 1\nnode = "%s"\ngpus = %d\n' "$1" "${settings[gpus]}"
    printf '\n# Reading NVML blocks while break/hang exists.\n[[fault]]\nkind = "hang"\nwhen_file = "break/hang"\n'
    for ((i = 0; i < settings[gpus]; i++)); do
        printf '\n[[fault]]\ngpu = %d\nkind = "lost"\nwhen_file = "break/gpu%d"\n' "$i" "$i"
    done
}

write_env() {
    local path=$dir/hooks name
    if other_root; then
        path=$dir/clients:$path
        for name in sbatch srun salloc scontrol sinfo squeue scancel sacct; do
            printf '#!/usr/bin/env bash\nexec %s %s "$@"\n' "${enter_root[*]@Q}" "$name" >"$dir/clients/$name"
            chmod 0755 "$dir/clients/$name"
        done
        # For what runs a hook by hand, which finds scontrol where the hook's own configuration says.
        printf '#!/usr/bin/env bash\nexec %s "$@"\n' "${enter_root[*]@Q}" >"$dir/clients/in-root"
        chmod 0755 "$dir/clients/in-root"
    fi
    cat >"$dir/env.sh" <<END
# Source this to use the cluster in $dir.
export SLURM_CONF=$dir/etc/slurm.conf
export SLURM_TRIAGE_DIR=$dir
export PATH=$path:\$PATH
END
}
