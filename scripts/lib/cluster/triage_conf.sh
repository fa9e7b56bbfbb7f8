# The suite on the cluster: its files, its configuration, and what slurmd calls.
# shellcheck shell=bash disable=SC2154

readonly PROGRAMS=(triage-prolog triage-epilog triage-healthcheck triage-probe slurm-triage)

# install_hooks: copies what was built. The libraries carry the names that cargo gives them.
install_hooks() {
    [[ -n ${settings[hooks]} ]] || return 0
    local name
    for name in "${PROGRAMS[@]}"; do
        [[ -x ${settings[hooks]}/$name ]] || die "--hooks: no $name in ${settings[hooks]}" 'cargo build --workspace'
        put_file "${settings[hooks]}/$name" "$name"
    done
    put_file "${settings[hooks]}/libnvidia_ml.so" libnvidia-ml.so.1
    if [[ ${settings[plugin]} == yes ]]; then
        put_file "${settings[hooks]}/libspank_triage.so" spank_triage.so
    else
        rm -f "$dir/hooks/spank_triage.so"
    fi
    wrapper prolog triage-prolog
    wrapper epilog triage-epilog
    wrapper healthcheck triage-healthcheck
}

# put_file FROM NAME: by rename, so that a program that runs keeps the file it started from.
put_file() {
    [[ -e $1 ]] || die "--hooks: no ${1##*/} in ${settings[hooks]}" 'cargo build --workspace'
    cmp -s "$1" "$dir/hooks/$2" && return
    install -m 0755 "$1" "$dir/hooks/$2.new"
    mv -- "$dir/hooks/$2.new" "$dir/hooks/$2"
}

# slurmd gives a hook almost no environment; SLURM_TRIAGE_CLUSTER lets `down` find what a hook
# left running.
wrapper() {
    cat >"$dir/bin/$1.new" <<END
#!/bin/sh
export SLURM_CONF=$dir/etc/slurm.conf SLURM_TRIAGE_CLUSTER=$dir
exec $dir/hooks/$2 --config $dir/etc/triage.toml
END
    chmod 0755 "$dir/bin/$1.new"
    mv -- "$dir/bin/$1.new" "$dir/bin/$1"
}

write_triage_config() {
    [[ -n ${settings[hooks]} ]] || return 0
    triage_toml >"$dir/etc/triage.toml"
    policy_toml >"$dir/etc/policy.toml"
}

triage_toml() {
    cat <<END
# Written by scripts/cluster; changes are lost at the next 'up'.
[paths]
state = "$dir/nodes/%n/state"
run = "$dir/nodes/%n/run"
policy = "$dir/etc/policy.toml"
catalog = "$dir/etc/catalog.d"
libexec = "$dir/hooks"

[slurm]
conf = "$dir/etc/slurm.conf"

[kernel_log]
# The nodes share this machine's kernel, so each has a log file of its own instead.
source = "file"
path = "$dir/nodes/%n/kern.log"

[nvml]
enabled = "always"
library = "$dir/hooks/libnvidia-ml.so.1"
scenario = "$dir/nodes/%n/gpus.toml"

# The nodes claim more memory than this machine has.
[checks.memory]
enabled = false

[log]
level = "debug"
END
}

# The policy that is shipped, in the mode asked for.
policy_toml() {
    sed -E "s/^default = .*/default = \"${settings[mode]}\"/" "$here/../etc/policy.toml"
}
