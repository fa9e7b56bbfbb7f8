# Seconds from the fault on, out of the job's output and the bad node's ledger.
# shellcheck shell=bash disable=SC2154  # mode, job, bad and fault_at are set by drill

# timeline: a JSON array of {what, at, seconds, text}, in the order of time.
timeline() {
    jq -n --arg fault "$fault_at" --arg bad "$bad" --arg mode "$mode" \
        --slurpfile why <(triage --json why "$job") --rawfile output "$(output)" '
        def seconds: (.[0:19] + "Z" | fromdate) + ("0" + .[19:-1] | tonumber);
        def row($what; $text): {what: $what, at: ., text: $text};
        def first_of(f): [f | select(. != null)] | sort | .[0] // empty;
        # Lines of the job: "2026-03-01T10:00:00.000000Z resume step=10".
        def lines($word): $output | split("\n")[] | split(" ") | select(.[1] == $word and .[0] > $fault) | .[0];
        $why[0] as $why
        | [ ($fault | row("fault"; "GPU lost on " + $bad + ": Xid 79 in the kernel log, NVML says lost")),
            (first_of($why | .. | objects | select(.intent? == "drain") | .at) | row("detected"; "case opened and decided about")),
            (first_of($why | .. | objects | select(.kind? == "drain" and .state? == "done") | .settled_at)
                | row("drained"; $bad + " is drained")),
            (first_of($why | .. | objects | select(.kind? == "requeue" and .state? == "done") | .settled_at)
                | row("requeued"; "the job is free to start elsewhere")),
            (first_of(lines("start")) | row("running"; "the job runs again")),
            (first_of(lines("resume")) | row("resumed"; "training goes on from its checkpoint")),
            (first_of(lines("done")) | row("finished"; "the job has finished")) ]
        | map(.seconds = ((.at | seconds) - ($fault | seconds)) | .seconds |= (. * 1000 | round / 1000))
        | sort_by(.seconds)'
}

show_timeline() {
    printf '\n'
    timeline | jq -r '.[] | [.seconds, .what, .text] | @tsv' |
        while IFS=$'\t' read -r seconds what text; do
            printf '%8.3f s  %-9s  %s\n' "$seconds" "$what" "$text"
        done
}

timeline_json() {
    timeline | jq -c --arg job "$job" --arg node "$bad" --arg mode "$mode" \
        '{ok: true, mode: $mode, job: $job, node: $node, timeline: .}'
}
