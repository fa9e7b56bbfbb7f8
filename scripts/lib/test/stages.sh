# The stages of scripts/test. Each is a command that fails or not; its output is shown and kept.
# shellcheck shell=bash disable=SC2154  # logs, fast and here are set by scripts/test

stage_names=() stage_seconds=()

# stage NAME COMMAND...: runs one stage, and ends the whole run when it fails.
stage() {
    local name=$1 began rc
    shift
    began=$(now_ms)
    printf '\n==> %s\n' "$name"
    set +e
    (
        set -Eeuo pipefail
        "$@"
    ) 2>&1 </dev/null | tee "$logs/$name.log"
    rc=${PIPESTATUS[0]}
    set -e
    stage_names+=("$name")
    stage_seconds+=("$(seconds_since "$began")")
    count_stage "$name" "$logs/$name.log" "$rc"
    [[ $rc -eq 0 ]] || finish "$name" "$rc"
}

# finish [NAME STATUS]: the summary; with the stage that failed, if one did.
finish() {
    local i
    printf '\n'
    for i in "${!stage_names[@]}"; do
        printf '%-14s %8s s\n' "${stage_names[i]}" "${stage_seconds[i]}"
    done
    [[ $# -eq 0 ]] || printf '\nstage %s failed with exit status %d; its output is above and in %s\n' "$1" "$2" "$logs/$1.log"
    printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [[ $# -eq 0 && $failed -eq 0 ]]
    exit
}

stage_packages() {
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    if [[ -z $fast ]]; then
        need_packages "${CLUSTER_PACKAGES[@]}"
        # NVIDIA's Python bindings, an independent reader of the simulated library, live in a venv.
        python3 -c 'import venv, ensurepip' 2>/dev/null || install_packages python3-venv
    fi
    if [[ -n ${CI:-} && -e deny.toml ]] && ! cargo deny --version >/dev/null 2>&1; then
        cargo install --quiet --locked cargo-deny
    fi
}

stage_scripts() {
    local file files=()
    while IFS= read -r file; do
        if [[ $file == *.sh ]] || head -n 1 "$file" | grep -q '^#!.*sh$'; then files+=("$file"); fi
    done < <(find scripts .ci etc -type f)
    shellcheck --external-sources "${files[@]}"
    printf '%d files\n' "${#files[@]}"
}

# The fuzz targets are a workspace of their own, which nothing else would notice to be broken. They are checked, not
# linked: libFuzzer itself, C++ that needs a compiler of its own, is named and never looked for.
stage_fuzz() {
    CUSTOM_LIBFUZZER_PATH=/nonexistent/libfuzzer.a CARGO_TARGET_DIR=$(target_dir)/fuzz \
        cargo check --locked --manifest-path fuzz/Cargo.toml
}

# Without advisories: their database comes from outside the package registry.
stage_dependencies() {
    if [[ ! -e deny.toml ]] || ! cargo deny --version >/dev/null 2>&1; then
        printf 'left out: no cargo-deny here; cargo install --locked cargo-deny\n'
        return
    fi
    cargo deny check bans licenses sources
}

stage_tests() {
    if has_nextest; then
        local filter=()
        # Those of the live binary run later, so here they are not skipped but somebody else's.
        [[ -n $fast ]] || filter=(-E 'not binary(live)')
        cargo nextest run --workspace --no-fail-fast "${filter[@]}"
    else
        cargo test --workspace --lib --bins --tests --no-fail-fast
    fi
}

stage_documents() {
    cargo test --workspace --doc
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet
}

# Ignored tests of the crates: they need root or Slurm's daemons, but no cluster.
stage_privileged() {
    if has_nextest; then
        cargo nextest run --workspace --no-fail-fast --no-tests pass --run-ignored only -E 'not binary(live)'
    else
        cargo test --workspace --lib --bins --no-fail-fast -- --ignored
    fi
}

# In one process, so that tests can share a cluster. That one is taken down once the process has ended.
stage_live() {
    local rc=0
    cargo test --test live --no-fail-fast -- --include-ignored --test-threads 4 || rc=$?
    wait_for 30 no_test_cluster || printf 'a test cluster is still up; see /run/slurm-triage-clusters\n'
    return "$rc"
}

no_test_cluster() { ! grep -qs '/slurm-triage-test[.]' /run/slurm-triage-clusters/*; }

has_nextest() { cargo nextest --version >/dev/null 2>&1; }
