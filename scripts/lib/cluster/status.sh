# What `status` shows.
# shellcheck shell=bash disable=SC2154

status_text() {
    local name pid
    printf 'cluster in %s, Slurm %s, ports from %s\n' "$dir" "$(slurm_version)" "${settings[port]}"
    if [[ -n ${settings[hooks]} ]]; then printf 'hooks from %s, mode %s\n' "${settings[hooks]}" "${settings[mode]}"; fi
    for name in $(daemon_names); do
        pid=$(daemon_pid "$name") || pid='not running'
        printf '  %-10s %s\n' "$name" "$pid"
    done
    in_client sinfo -N -O 'NodeList:10,StateLong:15,Gres:10,GresUsed:25,Reason:60' || true
}

status_json() {
    local name pid up=true sep='' line node state reason
    all_alive || up=false
    printf '{"dir":%s,"up":%s,"slurm":%s,"port":%d,"daemons":[' "$(json_string "$dir")" "$up" \
        "$(json_string "$(slurm_version)")" "${settings[port]:-0}"
    for name in $(daemon_names); do
        pid=$(daemon_pid "$name") || pid=null
        printf '%s{"name":%s,"pid":%s}' "$sep" "$(json_string "$name")" "$pid"
        sep=,
    done
    printf '],"nodes":['
    sep=''
    while IFS= read -r line; do
        IFS='|' read -r node state reason <<<"$line"
        printf '%s{"name":%s,"state":%s,"reason":%s}' "$sep" \
            "$(json_string "$node")" "$(json_string "$state")" "$(json_string "$reason")"
        sep=,
    done < <(in_client sinfo -h -N -o '%N|%T|%E' 2>/dev/null)
    printf ']}\n'
}
