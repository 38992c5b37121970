#!/bin/sh
# Starts and sweeps over several ranks: the rows of one process, digit by digit; a lost rank ends the run; bad input is one sentence.
# solve.sh FLAVOUR LATHE [KILLS]. SPDX-License-Identifier: BSD-3-Clause
set -u
FLAVOUR=$1 lathe=$2 KILLS=${3:-2}
. "$(dirname "$0")/mpirun.sh"
"$lathe" doctor | grep -q "^ok       $FLAVOUR" || skip "lathe was built without $FLAVOUR"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$lathe" "$work/lathe"
lathe=$work/lathe
LATHE_CACHE=$work/cache; export LATHE_CACHE
failed=0
fail() { echo "FAILED: $*"; failed=1; }
cat > "$work/p.lt" <<'EOF'
data a = 8
data t = linspace(0, 1, 5)
var x[2] = [1, 1]
minimize a*abs(x[0]^2 - x[1]) + (1 - x[0])^2 + 0*sum(t)
subject to
  sqrt(2)*x[0] <= 1
  2*x[1] <= a
EOF
sed 's/1 - x/2 - x/' "$work/p.lt" > "$work/other.lt"
sed 's/<= 1/<= -1/' "$work/p.lt" > "$work/low.lt"
# Times differ, and the file's name where there are two.
rows() { grep -v '"time_\|"loop_alloc' "$1"; }
same() { rows "$work/one" > "$work/a"; rows "$1" > "$work/b"; cmp -s "$work/a" "$work/b" || { fail "$2: not what one process says"; diff "$work/a" "$work/b" | head -n 5; }; }

for what in "--starts 40" "--starts 3" "--sweep a=1:10:13" "--sweep a=2:2:1"; do
    LATHE_THREADS=1 "$lathe" solve "$work/p.lt" $what --json > "$work/one" || fail "one process: $what"
    "$lathe" solve "$work/p.lt" $what --json > "$work/two" || fail "one process, all threads: $what"
    same "$work/two" "$what, threads"
    for n in 2 4; do # more ranks than work, too
        under 60 $n "$lathe" solve "$work/p.lt" $what --json > "$work/two" 2> "$work/err" || { fail "$n ranks: $what: status $?"; cat "$work/err"; }
        same "$work/two" "$n ranks: $what"
    done
done
under 60 3 "$lathe" solve "$work/p.lt" --sweep a=1:10:13 --out "$work/s.npz" --report "$work/s.html" > "$work/out" 2>&1 && [ -s "$work/s.npz" ] && [ -s "$work/s.html" ] || fail "--out and --report of a sweep"
[ "$(grep -c '^[0-9.]* *[0-9.e-]* ' "$work/out")" -ge 13 ] || { fail "a row per value"; cat "$work/out"; }
under 60 3 "$lathe" solve "$work/p.lt" --starts 20 --out "$work/x.npy" --report "$work/x.html" > "$work/out" 2>&1 && [ -s "$work/x.npy" ] && grep -q 'easible runs ended' "$work/x.html" || fail "--out and --report of starts"
grep -q '20 starts: 20 feasible, 0 infeasible, 0 failed; f: best' "$work/out" || { fail "no distribution"; cat "$work/out"; }

# A rank that is killed: the run ends, soon, and not with 0. There is nothing to keep: runs are short.
killed=0
for round in $(seq $((4 * KILLS))); do
    [ $killed -lt $KILLS ] || break
    under 100 3 "$lathe" solve "$work/p.lt" --starts 100000 --quiet > "$work/out" 2>&1 &
    pid=$!
    for _ in $(seq 200); do list=$(pgrep -f "^$lathe solve .*100000" | head -n 3); [ "$(echo "$list" | wc -w)" = 3 ] && break; sleep 0.05; done
    sleep 0.$((3 + round % 5))
    set -- $list
    shift $((round % 3)) 2>/dev/null
    grep -q 'lathe solve: ' "$work/out" && { fail "round $round: it does not run"; cat "$work/out"; break; }
    [ $# -gt 0 ] && lives "$1" && kill -9 "$1" 2>/dev/null && killed=$((killed + 1))
    ranks_ended $list || fail "a rank outlives the one that was killed"
    launcher_ended $pid && fail "a killed rank: status 0"
done
[ $killed -ge $KILLS ] || fail "$killed of $KILLS kills"
echo "$killed ranks were killed"

refused() {
    want=$1 text=$2
    shift 2
    timeout -k 5 60 "$@" > "$work/out" 2>&1
    got=$?
    ranks_gave "$want" "$got" "$work/out" || { fail "$text: status $got, expected $want"; cat "$work/out"; }
    [ "$(grep -c -- "$text" "$work/out")" = 1 ] || { fail "not said once: $text"; cat "$work/out"; }
}
one="$(launcher -n 1) $lathe solve $work/p.lt"
refused 2 'rank 1 has not the same problem as rank 0' $one --starts 9 : -n 1 "$lathe" solve "$work/other.lt" --starts 9
refused 2 'rank 1 has not the same problem as rank 0' $one --sweep a=1:2:3 : -n 1 "$lathe" solve "$work/other.lt" --sweep a=1:2:3
refused 2 'rank 1 has not the same options as rank 0' $one --starts 9 : -n 1 "$lathe" solve "$work/p.lt" --starts 9 --set stationarity_tol=1e-3
refused 2 'rank 1 has not the same options as rank 0' $one --starts 9 : -n 1 "$lathe" solve "$work/p.lt" --starts 10
if ! "$lathe" doctor | grep -q '^ok       instruction set  plain'; then
    refused 2 'rank 1 has not the same instruction set as rank 0: plain' $one --starts 9 : -n 1 env LATHE_ISA=plain "$lathe" solve "$work/p.lt" --starts 9
fi
refused 2 'compile_mode is max-autotune, which times kernels' $(launcher -n 2) "$lathe" solve "$work/p.lt" --starts 9 --set compile_mode=max-autotune
refused 2 'rank 1 (process .*): .*gone.lt' $one --starts 9 : -n 1 "$lathe" solve "$work/gone.lt" --starts 9
refused 2 "has no 'data b = " $(launcher -n 2) "$lathe" solve "$work/p.lt" --sweep b=1:2:3
refused 2 'only a single number can be given another value' $(launcher -n 2) "$lathe" solve "$work/p.lt" --sweep t=1:2:3 --quiet
refused 2 'expected NAME=FIRST:LAST:N' $(launcher -n 2) "$lathe" solve "$work/p.lt" --sweep a=1:2
exit $failed
