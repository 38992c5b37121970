#!/bin/sh
# The small set of recordings: small.sh SOURCE BUILD. Last bits depend on the processor, so numbers are compared between two settings on
# this machine (threads, batch size, cold and warm cache), and only texts with what the tree holds. SPDX-License-Identifier: BSD-3-Clause
set -u
source=$1
build=$2
golden() { sh "$source/scripts/golden.sh" "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Names without spaces, wherever the tree is: commands of the cases are written as in a shell.
ln -s "$source" "$work/source"
ln -s "$build" "$work/build"
source=$work/source build=$work/build
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAIL: $*"
}

LATHE_THREADS=1 sh "$source/scripts/golden.sh" record "$work/one" --build "$build" --small --batch 1 --cache "$work/cache" || fail "the first recording"
LATHE_THREADS=2 sh "$source/scripts/golden.sh" record "$work/two" --build "$build" --small --batch 3 --cache "$work/cache" || fail "the second recording"
golden compare "$work/one" "$work/two" --settings || fail "results depend on threads, batch size or cache"

# Texts: help, names, plans, errors
mkdir "$work/text"
for text in "$source"/tests/golden/text/*.txt; do
    cp "$work/two/${text##*/}" "$work/text" || fail "${text##*/} is no case any more; run scripts/golden.sh accept"
done
golden compare "$source/tests/golden/text" "$work/text" || fail "texts changed; if they should, run scripts/golden.sh accept and commit"

# A recording differs when one digit does
cp -r "$work/two" "$work/changed"
sed -i '0,/"f": \([0-9.-]*\)[0-9],/s//"f": \1x,/' "$work/changed/solve.A1.txt"
golden compare "$work/two" "$work/changed" >"$work/out" && fail "a changed digit went unnoticed"
grep -q 'solve.A1 differs in 2 lines' "$work/out" || { fail "the changed case is not named"; cat "$work/out"; }
rm "$work/changed/help.txt"
golden compare "$work/two" "$work/changed" >"$work/out" && fail "a missing case went unnoticed"
grep -q 'help is in one recording only' "$work/out" || fail "the missing case is not named"
mkdir "$work/none"
golden compare "$work/none" "$work/none" >"$work/out" && fail "two empty recordings are no proof"

# And so does the digest of a file: all arrays of numbers with another seed
for seed in 1 2; do
    "$build/bin/lathe" generate --config "$source/examples/configs/small_cpu.yaml" --merge "$source/tests/golden/inputs/short.yaml" \
        --total-samples 1 --seed $seed --output "$work/s$seed.h5" --quiet >"$work/out" || fail "generate"
    "$build/bin/h5_digest" "$work/s$seed.h5" >"$work/s$seed.txt" || fail "h5_digest"
done
for array in inputs/fields parameters/params features/temporal/features features/summary/aggregated/features; do
    a=$(grep "^/$array " "$work/s1.txt") && b=$(grep "^/$array " "$work/s2.txt") || fail "no line of $array"
    [ "$a" != "$b" ] || fail "the digest of $array does not depend on its numbers"
done
[ "$failures" -eq 0 ] && echo "all checks passed" || { echo "$failures checks failed"; exit 1; }
