# Counting tests from what the runners print.
# shellcheck shell=bash disable=SC2154

passed=0 failed=0 skipped=0

# count_stage NAME LOG STATUS: adds the tests of a stage. A stage that failed without a failing
# test (a build, a lint) counts as one failure.
count_stage() {
    local p f s
    read -r p f s < <(count_tests "$1" <"$2")
    # What the tests stage ignored is run by these, and counted there.
    if [[ $1 == privileged ]]; then skipped=$((skipped > p + f ? skipped - p - f : 0)); fi
    [[ $3 -eq 0 || $f -gt 0 ]] || f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# count_tests NAME <LOG: passed, failed and skipped tests in a log of cargo test or cargo nextest.
count_tests() {
    # A test of the live binary that the tests stage ignored is run, and counted, by a later stage.
    awk -v name="$1" -v fast="$fast" '
        # cargo nextest: "Summary [ 1.2s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 4 skipped"
        $1 == "Summary" {
            sub(/^.*run: /, "")
            gsub(/\([^)]*\)/, "")
            n = split($0, part, / *, */)
            for (i = 1; i <= n; i++) {
                split(part[i], w, " ")
                if (w[2] == "passed") p += w[1]
                else if (w[2] == "skipped") { if (name == "tests") s += w[1] }
                else f += w[1]
            }
        }
        $1 == "Running" { later = (name == "tests" && !fast && /tests\/live\.rs/) }
        # cargo test: "test result: ok. 3 passed; 0 failed; 1 ignored; ..."
        /^test result:/ {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) == "passed;") p += $i
                if ($(i + 1) == "failed;") f += $i
                if ($(i + 1) == "ignored;" && name != "privileged" && !later) s += $i
            }
        }
        END { print p + 0, f + 0, s + 0 }'
}
