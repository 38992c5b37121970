#!/bin/sh
# Gram matrices made by several ranks: equal to one process, byte for byte, also after kills and with another number of ranks; bad input is one sentence.
# gram.sh FLAVOUR LATHE [KILLS]. SPDX-License-Identifier: BSD-3-Clause
set -u
FLAVOUR=$1 lathe=$2 KILLS=${3:-4}
. "$(dirname "$0")/mpirun.sh"
"$lathe" doctor | grep -q "^ok       $FLAVOUR" || skip "lathe was built without $FLAVOUR"
command -v python3 > /dev/null || skip "python3 makes the inputs of this test"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$lathe" "$work/lathe"
lathe=$work/lathe # a name without spaces, wherever the build is
LATHE_CACHE=$work/cache LATHE_THREADS=1; export LATHE_CACHE LATHE_THREADS
failed=0
fail() { echo "FAILED: $*"; failed=1; }

cat > "$work/make.py" <<'EOF'
import random, struct, sys
def write(path, n, m, seed):
    r = random.Random(seed)
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (n, m)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dd" % (n * m), *[r.gauss(0, 1) for _ in range(n * m)]))
write(sys.argv[1] + "/x.npy", 1200, 10, 1)
write(sys.argv[1] + "/y.npy", 1200, 10, 2)
write(sys.argv[1] + "/small.npy", 40, 10, 3)
write(sys.argv[1] + "/w.npy", 3, 10, 4)
write(sys.argv[1] + "/long.npy", 1300, 14, 5)
write(sys.argv[1] + "/v.npy", 3, 14, 6)
write(sys.argv[1] + "/c.npy", 500, 12, 7)
EOF
python3 "$work/make.py" "$work" || fail "the inputs could not be made"
gram="$lathe gram --quiet --weights $work/w.npy --re-embed"
long="$lathe gram --quiet --weights $work/v.npy --re-embed --x $work/long.npy" # some seconds of work
k=$work/k.npy
equal() { cmp -s "$work/one.npy" "$1" || fail "$1 differs from the file of one process: $2"; }
alone() { for name in "$k.part" "$k.part.tiles" "$k.part.states"; do [ ! -e "$name" ] || fail "$1: $name is left"; done; }

for how in "" --packed "--normalize --y $work/small.npy"; do
    $gram --x "$work/x.npy" $how --out "$work/one.npy" > /dev/null || fail "one process: $how"
    for n in 2 3; do
        rm -f "$k"
        under 100 $n $gram --x "$work/x.npy" $how --out "$k" > "$work/out" 2>&1 || { fail "$n ranks: status $?: $how"; cat "$work/out"; }
        equal "$k" "$n ranks: $how"
        alone "$n ranks"
    done
    "$lathe" gram --read "$k" > "$work/out" 2>&1 || { fail "the checksums: $how"; cat "$work/out"; }
    "$lathe" gram --read "$k" --rows 37:90 --out "$work/rows.npy" > /dev/null || fail "--read: $how"
    rm -f "$k"*
done

# More ranks than tiles.
$gram --x "$work/small.npy" --out "$work/one.npy" > /dev/null || fail "one process, 40 rows"
under 100 4 $gram --x "$work/small.npy" --out "$k" > "$work/out" 2>&1 || { fail "more ranks than tiles: status $?"; cat "$work/out"; }
equal "$k" "more ranks than tiles"
rm -f "$k"*

# A circuit whose states take longer than all pairs: they are made once, and taken by other tiles and ranks.
circuit="$lathe gram --quiet --x $work/c.npy --map zz(reps=30,entanglement=full)"
$circuit --out "$work/one.npy" > /dev/null || fail "one process, a circuit"
$circuit --memory 1 --out "$k" --json > "$work/out" || fail "one process, a circuit in tiles"
equal "$k" "a circuit in tiles"
made=$(sed -n 's/.*"states_made": \([0-9]*\).*/\1/p' "$work/out") taken=$(sed -n 's/.*"states_taken": \([0-9]*\).*/\1/p' "$work/out")
[ "${taken:-0}" -gt 500 ] && [ "${made:-9999}" -lt 2000 ] || fail "a circuit in tiles: $made states made, $taken taken"
alone "a circuit in tiles"
rm -f "$k"*
under 100 2 $circuit --out "$k" --json > "$work/out" 2>&1 || { fail "2 ranks, a circuit: status $?"; cat "$work/out"; }
equal "$k" "2 ranks, a circuit"
grep -q '"states_taken": [1-9]' "$work/out" || { fail "2 ranks, a circuit: no states are taken"; cat "$work/out"; }
alone "2 ranks, a circuit"
rm -f "$k"*
# States that are damaged, or of another matrix, are made again.
timeout 60 $circuit --memory 1 --out "$k" > "$work/out" 2>&1 & pid=$!
for _ in $(seq 1000); do [ -s "$k.part.states" ] && [ "$(stat -c %s "$k.part.tiles" 2>/dev/null || echo 0)" -gt 400 ] && break; kill -0 $pid 2>/dev/null || break; sleep 0.01; done
kill -9 $(pgrep -f "^$lathe gram .*$k") 2>/dev/null
wait $pid 2>/dev/null
if [ -s "$k.part.states" ]; then
    size=$(stat -c %s "$k.part.states")
    for part in 1 3 5 7; do printf 'some other bytes' | dd of="$k.part.states" bs=1 seek=$((size * part / 8)) conv=notrunc 2>/dev/null; done
    $circuit --memory 1 --out "$k" --resume > "$work/out" 2>&1 || { fail "damaged states: status $?"; cat "$work/out"; }
    equal "$k" "killed, with damaged states"
    alone "damaged states"
fi
rm -f "$k"*

# Kills of random ranks, each resumed with another number of them; rank 0, too. What was finished stays.
$long --out "$work/one.npy" > /dev/null || fail "one process, 14 qubits"
begin() { # N OPTIONS: ranks in the background, which have made some tiles
    n=$1
    shift
    under 100 $n $long --out "$k" "$@" > "$work/began" 2>&1 &
    pid=$!
    for _ in $(seq 400); do
        list=$(pgrep -f "^$lathe gram .*$k" | head -n $n)
        [ "$(echo "$list" | wc -w)" = $n ] && [ -s "$k.part.tiles" ] && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
    done
}
tiles() { od -An -v -tx8 -w16 -j256 "$k.part.tiles" 2>/dev/null | grep -vc ' 0000000000000000 0000000000000000'; }
killed=0 before=0 victim=0
for round in $(seq $((3 * KILLS))); do
    [ $killed -lt $KILLS ] || break
    begin $((2 + round % 3)) --resume
    sleep 0.$(((round * 7) % 10))
    set -- $list
    victim=$(((victim + 1) % $#)) 2>/dev/null || victim=0
    shift $victim
    if [ -e "$k.part.tiles" ] && lives "$1" && kill -9 "$1" 2>/dev/null; then killed=$((killed + 1)); fi
    ranks_ended $list || fail "round $round: a rank outlives the one that was killed"
    launcher_ended $pid
    if [ -e "$k" ]; then equal "$k" "round $round"; rm -f "$k"*; before=0; continue; fi
    now=$(tiles)
    [ "$now" -ge $before ] || fail "round $round: $now tiles in the table, $before before"
    before=$now
done
[ $killed -ge $KILLS ] || fail "$killed of $KILLS kills"
echo "$killed ranks were killed"
$long --out "$k" --resume > "$work/out" 2>&1 || { fail "resumed by one process: status $?"; cat "$work/out"; }
equal "$k" "killed, resumed by one process"
alone "killed and resumed"
rm -f "$k"*

# The time limit of a batch system: SIGTERM to all, tiles at hand are finished, status 0.
begin 2 --requeue
for p in $list; do kill -TERM $p 2>/dev/null; done
wait $pid || { fail "--requeue: status $?"; cat "$work/began"; }
grep -q 'resume me: [0-9]* of [0-9]* tiles are done' "$work/began" || { fail "--requeue: it does not say so"; cat "$work/began"; }
under 100 3 $long --out "$k" --resume > "$work/out" 2>&1 || { fail "--requeue, resumed: status $?"; cat "$work/out"; }
equal "$k" "drained and resumed"
rm -f "$k"*

# refused STATUS 'sentence' ARGUMENTS of mpirun...
refused() {
    want=$1 text=$2
    shift 2
    timeout -k 5 60 "$@" > "$work/out" 2>&1
    got=$?
    ranks_gave "$want" "$got" "$work/out" || { fail "$text: status $got, expected $want"; cat "$work/out"; }
    [ "$(grep -c -- "$text" "$work/out")" = 1 ] || { fail "not said once: $text"; cat "$work/out"; }
}
on_one() { echo "$(launcher -n 1) $gram --out $k --x $work/x.npy : -n 1"; }
refused 2 'rank 1 has not the same matrix as rank 0' $(on_one) $gram --out "$k" --x "$work/y.npy"
refused 2 'rank 1 has not the same matrix as rank 0' $(on_one) $gram --out "$k" --x "$work/x.npy" --angle-scale 2
refused 2 'rank 1 has not the same kind of device as rank 0' $(on_one) $gram --out "$k" --x "$work/x.npy" --device null
refused 2 'rank 1 (process .*): .*gone.npy' $(on_one) $gram --out "$k" --x "$work/gone.npy"
refused 2 '--landmarks' $(launcher -n 2) $gram --x "$work/x.npy" --out "$k" --landmarks 5
refused 2 '--out K.npy' $(launcher -n 2) $gram --x "$work/x.npy"
mkdir "$work/other"
refused 1 'rank 1 (process .*): .*k.npy.part' $(on_one) $gram --out "$work/other/k.npy" --x "$work/x.npy"
refused 1 'rank 1 (process .*): .*cannot write' $(on_one) sh -c "ulimit -f 16000; exec $gram --out $k --x $work/x.npy"
rm -f "$k.part"*
[ ! -e "$k" ] && [ ! -e "$work/other/k.npy" ] || fail "a refused run left a file"

# Two writers; a table that is none.
begin 2
refused 2 'another process is writing this matrix' $(launcher -n 2) $long --out "$k" --resume
for p in $list; do kill -9 $p 2>/dev/null; done
launcher_ended $pid
rm -f "$k"*
echo "a table of somebody else's, of no use to us" > "$k.part.tiles"
refused 2 'is not a table of tiles' $(launcher -n 2) $gram --x "$work/x.npy" --out "$k" --resume
exit $failed
