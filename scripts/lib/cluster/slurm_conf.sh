# Slurm's own configuration: slurm.conf, gres.conf, cgroup.conf, plugstack.conf.
# shellcheck shell=bash disable=SC2154

readonly CPUS=64 MEMORY_MB=65536

# Set when slurm.conf differs from the one the daemons have read.
# shellcheck disable=SC2034  # read in daemons.sh
config_changed=''

write_slurm_config() {
    local etc=$dir/etc
    slurm_conf >"$etc/slurm.conf.new"
    if [[ -e $etc/slurm.conf ]] && ! cmp -s "$etc/slurm.conf" "$etc/slurm.conf.new"; then
        # shellcheck disable=SC2034  # read in daemons.sh
        config_changed=yes
    fi
    mv -- "$etc/slurm.conf.new" "$etc/slurm.conf"
    gres_conf >"$etc/gres.conf"
    plugstack_conf >"$etc/plugstack.conf"
    # The key exists since 24.05; without it 24.11 looks for a cgroup tree that this host may lack.
    if slurm_at_least 24 5; then printf 'CgroupPlugin=disabled\n' >"$etc/cgroup.conf"; fi
}

slurm_conf() {
    local host i last=${settings[nodes]} port=${settings[port]} auth=''
    host=$(hostname -s)
    [[ ${settings[munge]} != own ]] || auth="AuthInfo=socket=$(munge_socket)"
    cat <<END
# Written by scripts/cluster; changes are lost at the next 'up'.
ClusterName=triage
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
$auth
MailProg=/bin/true
StateSaveLocation=$dir/ctld
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmctldDebug=debug
SlurmdSpoolDir=$dir/nodes/%n/spool
SlurmdPidFile=$dir/run/%n.pid
SlurmdLogFile=$dir/nodes/%n/slurmd.log
# debug2 is the level at which slurmd shows what its hooks print.
SlurmdDebug=debug2
LogTimeFormat=iso8601_ms
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
# Nodes claim more cores and memory than this host has.
SlurmdParameters=config_overrides
ReturnToService=1
JobRequeue=1
PlugStackConfig=$dir/etc/plugstack.conf
# A refused job waits for another node; without nohold_on_prolog_fail it would be held. The rest
# only makes the scheduler look more often than a large site would want.
SchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=1,sched_interval=5,bf_interval=5
END
    [[ -z ${settings[hooks]} ]] || hook_lines
    # Weights make the choice of nodes predictable: n1 first, then n2, ...
    for ((i = 1; i <= last; i++)); do
        printf 'NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d RealMemory=%d Gres=gpu:%d Weight=%d State=UNKNOWN\n' \
            "$i" "$host" $((port + i)) "$CPUS" "$MEMORY_MB" "${settings[gpus]}" "$i"
    done
    printf 'PartitionName=main Nodes=n[1-%d] Default=YES MaxTime=INFINITE State=UP\n' "$last"
}

hook_lines() {
    cat <<END
Prolog=$dir/bin/prolog
Epilog=$dir/bin/epilog
RebootProgram=/bin/true
HealthCheckProgram=$dir/bin/healthcheck
HealthCheckInterval=${settings[health-interval]}
HealthCheckNodeState=ANY
END
}

gres_conf() {
    ((settings[gpus] > 0)) || return 0
    local n
    for n in $(node_names); do
        printf 'NodeName=%s Name=gpu File=%s/dev/%s/nvidia[0-%d] Flags=nvidia_gpu_env\n' \
            "$n" "$dir" "$n" $((settings[gpus] - 1))
    done
}

plugstack_conf() {
    [[ -n ${settings[hooks]} && ${settings[plugin]} == yes ]] || return 0
    [[ ! -e $dir/hooks/spank_triage.so ]] || printf 'optional %s spool=%s\n' "$dir/hooks/spank_triage.so" "$dir/nodes/%n/run/spool"
}
