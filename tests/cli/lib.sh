# Helpers of the command's tests; sourced with $lathe set. SPDX-License-Identifier: BSD-3-Clause
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
LATHE_CACHE=$work/cache
export LATHE_CACHE

fail() {
    failures=$((failures + 1))
    echo "FAIL: $*"
}

# run STATUS ARGUMENTS…: runs the command; its output lies in $work/out and $work/err. bench: the same for lathe-bench.
run() { run_program "$lathe" "$@"; }
bench() { run_program "$(dirname "$lathe")/lathe-bench" "$@"; }
run_program() {
    program=$1
    expected=$2
    shift 2
    last="${program##*/} $*"
    "$program" "$@" >"$work/out" 2>"$work/err" && got=0 || got=$?
    [ "$got" -eq "$expected" ] || {
        fail "$last: status $got, expected $expected"
        head -n 5 "$work/out" "$work/err"
    }
}

says() { grep -qF -- "$2" "$work/$1" || { fail "$last: its $1 lacks '$2'"; head -n 5 "$work/$1"; }; } # says out|err TEXT
silent() { [ ! -s "$work/$1" ] || { fail "$last: its $1 is not empty"; head -n 5 "$work/$1"; }; }

# The file is one JSON value; python3 judges where it is installed.
is_json() {
    if command -v python3 >/dev/null 2>&1; then
        python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1" 2>"$work/json" || { fail "$last: not JSON: $(tail -n 1 "$work/json")"; }
    else
        head -c 1 "$1" | grep -q '{' && tail -n 1 "$1" | grep -q '}' || fail "$last: not a JSON object"
    fi
}

# The file is a Chrome trace: every event has what the Trace Event Format asks of its kind, and the spans of a thread nest.
is_trace() {
    is_json "$1"
    command -v python3 >/dev/null 2>&1 || return 0
    python3 - "$1" 2>"$work/json" <<'EOF' || { fail "$last: not a Chrome trace: $(tail -n 1 "$work/json")"; }
import json, sys
number = (int, float)
trace = json.load(open(sys.argv[1]), parse_constant=lambda c: sys.exit(c + " is not JSON"))
threads, spans = {}, {}
for e in trace["traceEvents"]:
    assert isinstance(e["name"], str) and e["name"] and isinstance(e["pid"], int) and isinstance(e["tid"], int), e
    if e["ph"] == "M":
        assert e["name"] in ("process_name", "thread_name") and isinstance(e["args"]["name"], str), e
        threads[e["tid"]] = e["args"]["name"]
        continue
    assert e["tid"] in threads and isinstance(e["ts"], number) and e["ts"] >= 0, e
    if e["ph"] == "X":
        assert isinstance(e["dur"], number) and e["dur"] >= 0, e
        spans.setdefault(e["tid"], []).append((e["ts"], -e["dur"], e["name"]))
    elif e["ph"] == "C":
        assert e["args"] and all(isinstance(v, number) for v in e["args"].values()), e
    else:
        assert e["ph"] == "i" and e["s"] in "gpt", e
assert spans and trace["displayTimeUnit"] in ("ms", "ns")
for tid, those in spans.items():
    ends = []
    for start, minus, name in sorted(those):
        while ends and start >= ends[-1] - 0.002: ends.pop()  # times are rounded to nanoseconds
        assert not ends or start - minus <= ends[-1] + 0.002, (tid, name, start, "overlaps the span around it")
        ends.append(start - minus)
EOF
}

finish() {
    [ "$failures" -eq 0 ] && echo "all checks passed" || { echo "$failures checks failed"; exit 1; }
}
