#!/bin/sh
# Pictures of initial fields: fields.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

run 2 visualize-ic-types; says err "Give --output FILE.png"
run 2 visualize-ic-types --output "$work/a.png" --tiers tier9; says err "tier 'tier9': expected baseline"
run 2 visualize-ic-types --output "$work/a.png" --ic-types turing; says err "turing"
run 2 visualize-ic-types --output "$work/a.png" --colormap viridi; says err "viridis"
run 2 visualize-ic-types --output "$work/a.png" --cell-size 10by10; says err "--cell-size is '10by10'"
run 2 visualize-ic-types --output "$work/a.png" --cell-size 2x2; says err "cells of 2 by 2 pixels"
run 2 visualize-ic-types --output "$work/a.png" --num-channels 2; says err "2 channels: expected 1 or 3"
run 2 visualize-ic-types --output "$work/a.png" --variations 0; says err "variations"
[ ! -e "$work/a.png" ] || fail "a picture was left behind after a mistake"

"$lathe" doctor | grep -q '^ok *png' || { echo "skip: built without libpng"; exit 77; }

run 2 visualize-ic-types --output "$work/no/such/a.png" --tiers tier1 --grid-size 8 --cell-size 16x16; says err "no/such"
run 0 visualize-ic-types --output "$work/a.png" --tiers baseline,tier1 --ic-types dla_cluster --grid-size 16 --cell-size 20x24 --variations 2
says out "a.png: 40 by 312 pixels"; silent err
head -c 8 "$work/a.png" | od -An -c | grep -q 'P *N *G' || fail "not a PNG file"
run 0 visualize-ic-types --output "$work/b.png" --tiers baseline --tiers tier1 --ic-types dla_cluster --grid-size 16 --cell-size 20x24 --variations 2 --quiet
silent out
cmp -s "$work/a.png" "$work/b.png" || fail "the same command gave another picture"
run 0 visualize-ic-types --output "$work/c.png" --grid-size 16 --cell-size 20x20 --add-labels --add-spacing --num-channels 1 --colormap magma --physical --seed 7 --json
is_json "$work/out"; says out '"height": 614'
finish
