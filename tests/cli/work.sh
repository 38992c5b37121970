#!/bin/sh
# The subcommands that compute, at their smallest: work.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

run 0 demo --report "$work/demo.html" --profile "$work/trace.json"
says out "A nonsmooth problem, solved"; says out "A neural operator, rolled out"; says out "A quantum kernel"; says out "A nonsmooth function"
says out "Report: "
says err "self"; says err "memory of"; says err "trace in"
is_trace "$work/trace.json"
grep -q "</html>" "$work/demo.html" || fail "the demo's report is not whole"
run 0 demo --json; is_json "$work/out"; silent err
for part in optimizer operators qkernel rosenbrock lenet chain; do says out "\"$part\""; done

bench 0 roofline --quick --json --report "$work/roofline.html"; is_json "$work/out"; says out '"flops_per_second_f64"'; says out '"commit"'; silent err
grep -q "<svg" "$work/roofline.html" || fail "the roofline page has no plot"
bench 0 transfers --quick --order 100; says out "staged"
bench 0 transfers --quick --order 100 --json; is_json "$work/out"; says out '"speedup"'
# Where auto led is said, once and to people; results of a device that computes nothing are called that
bench 0 fused --quick; says err "lathe-bench: device "
bench 0 fused --quick --quiet; silent err
bench 0 fused --quick --device cpu; silent err
bench 0 fused --quick --device null --json; is_json "$work/out"; says err "device null plans and counts, computes nothing: results mean nothing"
bench 0 fused --quick --json --quiet; is_json "$work/out"; says out '"no fusion"'

# Rows of bench graph, and the ratio to a peer's timings
cat >"$work/peer.json" <<'JSON'
{"peer": "a \"peer\"", "machine": {"cores": [1, 2, null, true]}, "rows": [{"name": "rosenbrock", "seconds": 1.0, "note": "slow"}]}
JSON
bench 0 graph --quick --only rosenbrock --only sum_exp --peer "$work/peer.json" --report "$work/graph.html"
says out "Rosenbrock"; says out 'a "peer"'
bench 0 graph --quick --only rosenbrock --peer "$work/peer.json" --json; is_json "$work/out"; says out '"peer_ratio"'; says out '"verdict"'
bench 0 graph --quick --json; is_json "$work/out"; says out '"compile_10k"'; says out '"jacobian"'
bench 2 graph --peer "$work/missing.json"; says err "missing.json"
mkfifo "$work/pipe"
bench 2 graph --peer "$work/pipe"; says err "pipe: not a regular file" # and does not wait for a writer
bench 0 graph --quick --only rosenbrock --peer /dev/fd/3 3<"$work/peer.json"; says out 'a "peer"'
cat "$work/peer.json" | bench 0 graph --quick --only rosenbrock --peer /dev/stdin; says out 'a "peer"'
for text in '' '[1]' '{"rows": [{"name": "x"}]}' '{"rows": [{"name": "x", "seconds": -1}]}' '{"rows": []}' '{"rows": [{"name": "x", "seconds": 1}' \
            '{"a": {"a": {"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[['; do
    printf '%s' "$text" >"$work/bad.json"
    bench 2 graph --peer "$work/bad.json"; says err "bad.json"
done

# Tuning: measured once, then found; cleared
run 0 tune --quick --file "$work/tune.txt"; says out "tune.txt"
run 0 tune --quick --file "$work/tune.txt" --mode stored --json; is_json "$work/out"; says out '"measured": 0'
run 0 tune --list --file "$work/tune.txt"; says out "entries"
# What is in the cache and cannot be trusted is reported by the doctor; runs go on without
run 0 tune --quick
for file in "$work/cache"/tune-*.txt; do echo tampered >"$file"; done
bench 0 fused --quick --json --quiet; is_json "$work/out"
run 0 doctor; says out "tuning "; says out "tampered"; says out "-> not used; lathe tune --device"
chmod 777 "$work/cache"
run 0 doctor; says out "lets others write to it, and is not used"; says out "-> chmod 700 it"
chmod 700 "$work/cache"
run 0 tune --clear --file "$work/tune.txt"; says out "removed"
[ ! -e "$work/tune.txt" ] || fail "tune --clear left the file"
run 0 tune --clear --file "$work/tune.txt"; says out "there was no"

# Ctrl-C ends with 130
"$(dirname "$lathe")/lathe-bench" graph --quiet >/dev/null 2>"$work/err" &
pid=$!
sleep 0.5
kill -INT $pid
wait $pid && code=0 || code=$?
[ "$code" -eq 130 ] || fail "interrupted bench graph: status $code, expected 130"
grep -q interrupted "$work/err" || fail "interrupted bench graph does not say so"

finish
