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

# run STATUS ARGUMENTS…: runs the command; its output lies in $work/out and $work/err.
run() {
    expected=$1
    shift
    "$lathe" "$@" >"$work/out" 2>"$work/err" && got=0 || got=$?
    [ "$got" -eq "$expected" ] || {
        fail "lathe $*: status $got, expected $expected"
        head -n 5 "$work/out" "$work/err"
    }
    last="lathe $*"
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

finish() {
    [ "$failures" -eq 0 ] && echo "all checks passed" || { echo "$failures checks failed"; exit 1; }
}
