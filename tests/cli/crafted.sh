#!/bin/sh
# Crafted dataset files: no command crashes, hangs, follows a way out of the file or lets control characters through.
# crafted.sh LATHE CRAFT. SPDX-License-Identifier: BSD-3-Clause
set -eu
lathe=$1
craft=$2
. "$(dirname "$0")/lib.sh"

c=$work/c.yaml
cat >"$c" <<'CONFIG'
metadata: {name: crafted}
parameter_space:
  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 5]}, kernel_size: {type: choice, choices: [3]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian]}}
  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}
sampling: {total_samples: 3, batch_size: 2}
simulation: {device: cpu, precision: float32, num_realizations: 2, num_timesteps: 3}
dataset: {output_path: OUT.h5, storage: {chunk_size: 2, store_trajectories: true}}
CONFIG
run 0 generate --config "$c" --output "$work/good.h5" --quiet

# soon ARGUMENTS...: status 0, 1 or 2, in less than 10 s.
soon() {
    timeout -k 1 60 "$lathe" "$@" >"$work/out" 2>"$work/err" && got=0 || got=$?
    [ "$got" -le 2 ] || { fail "lathe $*: status $got"; head -n 5 "$work/err"; }
    last="lathe $*"
}

# all FILE: every command that reads datasets.
all() {
    soon info "$1" --verbose
    soon validate "$1" --check-samples --check-metadata
    soon replay "$1" --index 0 --out "$work/r.h5"
    soon merge --out "$work/m.h5" "$1"
    soon extract-features "$1" --output "$work/e.h5" --overwrite
    soon table "$1" --csv "$work/t.csv" --parquet "$work/t.parquet"
    soon split "$1" --stratify
    soon card "$1"
    rm -rf "$work/e.zarr"
    soon export "$1" --npz "$work/e.npz" --zarr "$work/e.zarr"
    soon export "$1" --the-well "$work/e.well.h5"
    soon upgrade "$1" --quiet
    soon visualize-dataset "$1" --n-operators 1 --steps 2 --format frames --output "$work/film" --size 8x8 --sampling-method diverse
    soon visualize-features "$1" --output "$work/f.png" --width-px 16 --n-operators 1
    soon generate --config "$c" --output "$1" --resume --quiet
}

while read -r where change; do
    "$craft" "$work/good.h5" "$work/bad.h5" "$where" "$change" || fail "cannot craft $where $change"
    all "$work/bad.h5"
done <<'CASES'
/status/code rank-more
/status/seconds wider
/parameters/params wider
/inputs/fields huge-chunk
rows 268435456
CASES

# Damaged chunks are the file's fault (2), not a want of memory (1).
bytes=$(wc -c <"$work/good.h5")
found=0
for part in 2 3 4 5 6 7 8 9; do
    cp "$work/good.h5" "$work/bad.h5"
    head -c 300 /dev/zero | tr '\0' '\377' | dd of="$work/bad.h5" bs=1 seek=$((bytes * part / 10)) conv=notrunc 2>/dev/null
    for request in "extract-features $work/bad.h5 --output $work/e.h5 --overwrite" "merge --out $work/m.h5 $work/bad.h5" "table $work/bad.h5 --csv $work/t.csv"; do
        # shellcheck disable=SC2086
        soon $request
        [ "$got" -ne 1 ] || { fail "$last with damage at $part/10: status 1"; head -n 3 "$work/err"; }
        [ "$got" -eq 0 ] || found=$((found + 1))
    done
done
[ $found -gt 0 ] || fail "no damage was found"

# Control characters stay in the file: whatever it says of itself, in a dataset, a configuration, a problem, a table.
escape=$(printf '\033')
tame() { # tame ARGUMENTS...
    soon "$@"
    ! LC_ALL=C grep -qF "$escape" "$work/out" "$work/err" || { fail "$last: an escape sequence reaches the terminal"; cat -v "$work/out" "$work/err" | head -n 5; }
}
for where in /metadata@config /metadata@sampling_metrics /@engine_version /@precision /@device /parameters@dimension_names; do
    "$craft" "$work/good.h5" "$work/bad.h5" "$where" attribute-garbage || fail "cannot craft $where"
    tame info "$work/bad.h5" --verbose
    tame validate "$work/bad.h5"
    tame replay "$work/bad.h5" --index 0
    tame card "$work/bad.h5"
done
sed 's/name: crafted/name: "c\\e[31m"/; s/OUT.h5/"OUT\\e.h5"/' "$c" >"$work/name.yaml"
tame generate --config "$work/name.yaml" --dry-run
[ "$got" -eq 0 ] || fail "$last: status $got"
tame generate --config "$work/name.yaml" --output "$work/named.h5" --verbose
sed 's/choices: \[gaussian\]/choices: ["g\\e"]/' "$c" >"$work/choice.yaml"
tame generate --config "$work/choice.yaml"
# so do characters that are two or three bytes: the control sequence of U+009B, and U+202E, which turns the direction of writing
for escape in "$escape" "$(printf '\302\233')" "$(printf '\342\200\256')"; do
printf 'var x[1] = [1]\ndata A = load("%s[31m.csv") # %s\nminimize foo(x)\n' "$escape" "$escape" >"$work/e.lt"
tame solve "$work/e.lt"
printf 'a,b,k\n1,%s[31m,x\n2,3,y\n' "$escape" >"$work/e.csv"
tame qsvm --x "$work/e.csv" --label-column k
tame info "$work/$escape"
printf 'name: %s\n' "$escape" >"$work/e.yaml"
tame generate --config "$work/e.yaml"
printf '{"a": "%s", b}' "$escape" >"$work/e.json"
tame generate --config "$work/e.json"
printf 'OPENQASM 3.0;\nqubit[2] q;\n%s x q[0];\n' "$escape" >"$work/e.qasm"
tame gram --x "$work/none.npy" --circuit "$work/e.qasm" --out "$work/k.npy"
tame solve --set "$escape=1" "$work/e.lt"
tame generate "--$escape"
tame explain "$escape"
tame tune --list --file "$work/e.qasm"
cp "$work/good.h5" "$work/n$escape.h5" # names of files come with archives
for request in "info" "validate" "replay --index 0 --out=$work/r$escape.h5" "merge --out=$work/m$escape.h5" "extract-features --output=$work/e$escape.h5 --overwrite" \
    "upgrade" "table --csv=$work/t$escape.csv" "export --npz=$work/t$escape.npz" "card" "split"; do
    # shellcheck disable=SC2086
    tame $request "$work/n$escape.h5"
done
tame visualize-features "$work/n$escape.h5" --output "$work/v$escape.png" --width-px 16 --n-operators 1
tame visualize-ic-types --config "$c" --output "$work/i$escape.png"
done

# Refused by name, nothing followed: a FIFO would hang whoever opens it.
"$craft" "$work/good.h5" "$work/bad.h5" /inputs/fields external-storage
run 2 info "$work/bad.h5"; says err "/inputs/fields is in external storage"
"$craft" "$work/good.h5" "$work/bad.h5" /inputs/fields external-link
run 2 validate "$work/bad.h5"; says err "/inputs/fields is an external link"
mkfifo "$work/fifo"
for command in info validate "replay --index 0" "merge --out $work/m.h5" "extract-features --output $work/e.h5" extract-features "table --csv $work/t.csv" split card "export --npz $work/e.npz" "export --zarr $work/e.zarr" "export --the-well $work/e.well.h5" upgrade visualize-dataset visualize-features; do
    run 2 $command "$work/fifo"; says err "not a regular file"
done
run 2 generate --config "$work/fifo"; says err "not a regular file"
finish
