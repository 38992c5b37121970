#!/bin/sh
# Every call site of every command fails once (tests/faults), by so many processes: faults.sh BUILD JOBS [PART]. PART: only the commands whose
# line contains it. Prints what each command came to and the sums; status 1 where an end was wrong. SPDX-License-Identifier: BSD-3-Clause
set -u
build=$1 jobs=$2 part=${3-}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
i=0
while [ $i -lt "$jobs" ]; do
    "$build/bin/test_faults" sites "$part" "$i/$jobs" >"$logs/$i" 2>&1 &
    i=$((i + 1))
done
wait
grep -h -v "^ .* ended by \|runs, " "$logs"/*
awk '/ended by lib/ { n = $1; $1 = ""; theirs[$0] += n }
     /^[0-9]+ runs,/ { parts++; runs += $1; failed += $3; other += $8; unmet += $14; wrong += $19 }
     END { for (t in theirs) printf "%6d%s\n", theirs[t], t
           printf "%d runs, %d failed as they should, %d ended by libraries of others, %d sites not met again, %d wrong\n", runs, failed, other, unmet, wrong
           exit wrong > 0 || parts < jobs }' jobs="$jobs" "$logs"/*
