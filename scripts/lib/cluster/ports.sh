# A block of ports of its own for each cluster: one for slurmctld, one for each slurmd.
# shellcheck shell=bash disable=SC2154

readonly PORT_BLOCK=100
# Below the ports that Linux hands to clients (net.ipv4.ip_local_port_range, from 32768).
readonly PORT_FIRST=17000 PORT_LAST=31900
# A file a block, holding the folder of the cluster that has it; in a folder that only root can write.
readonly PORT_REGISTRY=/run/slurm-triage-clusters

choose_ports() {
    install -d -m 0755 "$PORT_REGISTRY"
    [[ -n ${settings[port]} && $(cat "$PORT_REGISTRY/${settings[port]}" 2>/dev/null) == "$dir" ]] && return
    local base
    exec 8>"$PORT_REGISTRY/lock"
    flock 8
    for ((base = PORT_FIRST; base <= PORT_LAST; base += PORT_BLOCK)); do
        if block_is_free "$base"; then
            printf '%s\n' "$dir" >"$PORT_REGISTRY/$base"
            settings[port]=$base
            exec 8>&-
            return
        fi
    done
    die "no $PORT_BLOCK free ports together between $PORT_FIRST and $((PORT_LAST + PORT_BLOCK))"
}

block_is_free() {
    local owner
    owner=$(cat "$PORT_REGISTRY/$1" 2>/dev/null) || owner=''
    # A cluster's folder may have been removed by hand.
    [[ -z $owner || $owner == "$dir" || ! -e $owner/settings ]] || return 1
    # Columns: index, local address:port in hex, remote, state; 0A is LISTEN.
    ! cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v first="$1" -v count="$PORT_BLOCK" '
        BEGIN { for (p = first; p < first + count; p++) want[sprintf("%04X", p)] = 1 }
        $4 == "0A" { n = split($2, a, ":"); if (a[n] in want) found = 1 }
        END { exit !found }'
}

release_ports() {
    local file=$PORT_REGISTRY/${settings[port]}
    [[ -n ${settings[port]} && $(cat "$file" 2>/dev/null) == "$dir" ]] || return 0
    rm -f -- "$file"
}
