# munged: the machine's own when it answers, else one for this cluster with its own key and socket.
# shellcheck shell=bash disable=SC2154

munge_dir() { printf '%s\n' "$dir/run/munge"; }
munge_socket() { printf '%s\n' "$dir/run/munge/socket"; }

start_munge() {
    if [[ -z ${settings[munge]} ]]; then
        settings[munge]=own
        # Another root would have to be shown the machine's socket; its own is simpler.
        other_root || ! munge_answers || settings[munge]=machine
    fi
    if [[ ${settings[munge]} == machine ]]; then
        munge_answers || die 'the munged this cluster was made with no longer answers' 'systemctl start munge'
        return
    fi
    munge_answers --socket="$(munge_socket)" && return
    local run
    run=$(munge_dir)
    install -d -o munge -g munge -m 0755 "$run"
    if [[ ! -s $run/key ]]; then
        (umask 077 && head -c 128 /dev/urandom >"$run/key")
        chown munge:munge "$run/key"
        chmod 0400 "$run/key"
    fi
    setpriv --reuid=munge --regid=munge --clear-groups -- munged --socket="$(munge_socket)" --key-file="$run/key" \
        --pid-file="$run/pid" --log-file="$run/log" --seed-file="$run/seed" 9>&- </dev/null 2>&1 ||
        die "munged did not start: $(tail -n 3 "$run/log" 2>/dev/null)"
    wait_for 10 munge_answers --socket="$(munge_socket)" || die "munged does not answer: $(tail -n 3 "$run/log")"
}

# munge_answers [--socket=PATH]
munge_answers() {
    timeout 5 munge --no-input "$@" 2>/dev/null | timeout 5 unmunge "$@" >/dev/null 2>&1
}

stop_munge() {
    [[ ${settings[munge]} == own ]] || return 0
    local pid
    pid=$(cat "$(munge_dir)/pid" 2>/dev/null) || return 0
    runs_with "$pid" munged "--socket=$(munge_socket)" || return 0
    end_process "$pid" munged "--socket=$(munge_socket)"
}
