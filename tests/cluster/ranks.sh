#!/bin/sh
# Ranks of a real MPI: messages, agreement, work, regions, failures, a lost rank. ranks.sh FLAVOUR PROGRAM OTHER. SPDX-License-Identifier: BSD-3-Clause
set -u
FLAVOUR=$1 PROGRAM=$2 OTHER=$3
. "$(dirname "$0")/mpirun.sh"
[ -f "$(dirname "$PROGRAM")/../lib/lathe/mpi-$FLAVOUR.so" ] || skip "lathe was built without $FLAVOUR"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

for n in 1 2 5; do
    under 60 $n "$PROGRAM" all "$work/region" > "$work/out" 2>&1 || { fail "all, $n ranks: status $?"; cat "$work/out"; }
    [ "$(grep -c '^fine' "$work/out")" = 1 ] || { fail "all, $n ranks: rank 0 alone prints"; cat "$work/out"; }
done

# expect STATUS 'sentence' CASE [HOW]: ends in time, rank 0 says it once. HOW: under, or aborted.
expect() {
    "${4:-under}" 60 3 "$PROGRAM" "$3" "$work/region" > "$work/out" 2>&1
    got=$?
    [ "$got" = "$1" ] || { fail "$3: status $got, expected $1"; cat "$work/out"; }
    [ "$(grep -c -- "$2" "$work/out")" = 1 ] || { fail "$3: not once: $2"; cat "$work/out"; }
}
expect 2 'rank 2 (process .*): rank 2 does not like it' fail-early
expect 2 'rank 1 (process .*): no more after unit' fail-work
expect 1 'unit 40 cannot be kept' fail-take
expect 2 'ranks 1, 2 have not the same numbers as rank 0' differ
expect 1 'rank 2 (process .*): .*is not the file that rank 0 has' other-disk

# Ranks of two versions of lathe do not begin.
timeout -k 5 60 $(launcher -n 1) "$PROGRAM" all "$work/region" : -n 1 "$OTHER" all "$work/region" > "$work/out" 2>&1
[ $? = 2 ] && [ "$(grep -c 'rank 1 has not the same version of lathe as rank 0' "$work/out")" = 1 ] || { fail "two versions"; cat "$work/out"; }

# Units that sleep: ranks are kept busy. (A loaded machine keeps them waiting, too, so the bound is low; docs/scaling.md has figures of many.)
under 100 8 "$PROGRAM" sleepers=600 0.005 > "$work/out" 2>&1 && grep -q '^efficiency \(0\.[5-9]\|1\)' "$work/out" || { fail "efficiency of 8 sleepers"; cat "$work/out"; }

# A rank that is killed: the launcher or rank 0 ends the rest, soon.
start=$(date +%s)
for how in killed killed-first; do # a rank, and rank 0
    aborted 60 3 "$PROGRAM" $how "$work/region" > "$work/out" 2>&1
    got=$?
    [ $got -ne 0 ] && [ $got -ne 124 ] || fail "$how: status $got"
done
[ $(($(date +%s) - start)) -lt 70 ] || fail "killed: took too long"
# A rank that lives but says nothing (stopped): rank 0 names it after LATHE_RANK_SECONDS.
LATHE_RANK_SECONDS=3; export LATHE_RANK_SECONDS
expect 1 'rank 1 (process .*) was lost: nothing was heard of it for' silent aborted

# Launched by an MPI that lathe has no part for: one sentence of rank 0, status 2 or 1, no hang.
cp "$PROGRAM" "$work/alone"
under 60 3 "$work/alone" all "$work/region" > "$work/out" 2>&1 && fail "without a part: status 0"
[ "$(grep -c 'was built without a part for' "$work/out")" = 1 ] || { fail "without a part: not once"; cat "$work/out"; }
# Asked to work alone, each rank is alone.
[ "$(LATHE_MPI=off under 60 2 "$PROGRAM" all "$work/region" 2>/dev/null | grep -c '^fine self')" = 2 ] || fail "LATHE_MPI=off"
exit $failed
