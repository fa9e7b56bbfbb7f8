# Helpers that every script here shares. Sourced, never run.
# shellcheck shell=bash

# What the scripts print goes to stderr, so that stdout stays free for what they answer.
say() { printf '%s\n' "$*" >&2; }

# die TEXT [REMEDY]: one fragment that says what is wrong, one that says what to do.
die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    [[ $# -lt 2 ]] || printf '%s: try: %s\n' "${0##*/}" "$2" >&2
    exit 1
}

need_root() {
    [[ $EUID -eq 0 ]] || die "needs root: $1" "sudo $0"
}

# now_ms: milliseconds since the epoch, for durations only.
now_ms() {
    local t=${EPOCHREALTIME/[^0-9]/}
    printf '%s\n' "${t%???}"
}

# seconds_since MS: time since now_ms printed MS, as seconds with one decimal.
seconds_since() {
    local ms=$(($(now_ms) - $1))
    printf '%d.%d\n' $((ms / 1000)) $((ms % 1000 / 100))
}

# wait_for SECONDS COMMAND...: polls until COMMAND succeeds; fails when SECONDS have passed.
wait_for() {
    local deadline=$(($(now_ms) + $1 * 1000))
    shift
    until "$@"; do
        [[ $(now_ms) -lt $deadline ]] || return 1
        sleep 0.05
    done
}

# json_string TEXT: TEXT as a JSON string, quotes included.
json_string() {
    local s=$1 out='' c i
    for ((i = 0; i < ${#s}; i++)); do
        c=${s:i:1}
        case $c in
        '"' | \\) out+=\\$c ;;
        [[:cntrl:]]) printf -v c '\\u%04x' "'$c" && out+=$c ;;
        *) out+=$c ;;
        esac
    done
    printf '"%s"\n' "$out"
}

# need_packages PACKAGE=PATH...: installs the Debian packages whose PATH (a file, or a command
# when it has no slash) is missing.
need_packages() {
    local missing=() pair what
    for pair in "$@"; do
        what=${pair#*=}
        if [[ $what == */* ]]; then
            compgen -G "$what" >/dev/null || missing+=("${pair%%=*}")
        else
            type -P "$what" >/dev/null || missing+=("${pair%%=*}")
        fi
    done
    [[ ${#missing[@]} -eq 0 ]] || install_packages "${missing[@]}"
}

install_packages() {
    local remedy="apt-get install $*" log
    [[ $EUID -eq 0 ]] || die "missing packages: $*" "sudo $remedy"
    type -P apt-get >/dev/null || die "missing, and this is not a Debian: $*" 'your own package manager'
    say "installing $*"
    log=$(mktemp)
    if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "could not install $*" "$remedy"
    fi
    rm -f "$log"
}

# target_dir: where cargo builds. Works before jq is installed: cargo's answer, cut at the one key.
target_dir() {
    cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}
