#!/bin/sh
# Several commands at one dataset, and paths that are no plain files: writers.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

cat >"$work/c.yaml" <<'YAML'
metadata: {name: writers}
parameter_space:
  architecture:
    num_layers: {type: integer, bounds: [2, 3]}
    base_channels: {type: integer, bounds: [4, 8]}
    kernel_size: {type: choice, choices: [3]}
    activation: {type: choice, choices: [gelu]}
  stochastic:
    noise_type: {type: choice, choices: [gaussian]}
    noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}
  operator:
    normalization: {type: choice, choices: [instance]}
    grid_size: {type: choice, choices: [16]}
  evolution: {update_policy: {type: choice, choices: [residual, convex]}}
sampling: {total_samples: 8, batch_size: 4, sobol: {seed: 3}}
simulation:
  device: cpu
  precision: float32
  num_realizations: 2
  num_timesteps: 12
  input_generation: {method: structured}
dataset: {output_path: OUT.h5, storage: {chunk_size: 3}}
YAML
c="$work/c.yaml"
if ! "$lathe" generate --config "$c" --output "$work/a.h5" >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
for i in 0 1; do run 0 generate --config "$c" --output "$work/s$i.h5" --shard $i/2 --quiet; done

# While one command writes, no other touches the file: --overwrite and --resume neither, nor any command that makes datasets
mkdir "$work/d"
d="$work/d/d.h5"
printf 'simulation: {num_timesteps: 300}\n' >"$work/long.yaml"
long="--config $c --merge $work/long.yaml --total-samples 2000 --output $d"
# shellcheck disable=SC2086
"$lathe" generate $long >"$work/first" 2>&1 &
pid=$!
for _ in $(seq 600); do [ -e "$d" ] && [ -s "$d.journal" ] && break; sleep 0.1; done
before=$(ls -i "$d")
for request in "generate --config $c --output $d" "generate --config $c --output $d --overwrite" "generate $long --resume" \
    "merge --out $d $work/s0.h5 $work/s1.h5" "extract-features $work/a.h5 --overwrite --output $d" "replay $work/a.h5 --index 1 --out $d"; do
    # shellcheck disable=SC2086
    run 2 $request; says err "another process is writing this dataset"; silent out
done
[ "$(ls -i "$d")" = "$before" ] || fail "a dataset was replaced under the command that wrote it"
[ "$(ls "$work/d" | tr '\n' ' ')" = "d.h5 d.h5.journal " ] || fail "beside the dataset lies $(ls "$work/d")"
kill -INT $pid; wait $pid && got=0 || got=$?
[ "$got" -eq 130 ] || { fail "the first writer: status $got, expected 130"; cat "$work/first"; }
run 0 validate "$d"; says out "pending"
run 2 generate --config "$c" --output "$d"; says err "holds an unfinished run"

# A dataset that is removed under its writer is no success
rm -rf "$work/gone"; mkdir "$work/gone"
"$lathe" generate --config "$c" --merge "$work/long.yaml" --total-samples 8 --output "$work/gone/d.h5" >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 600); do [ -s "$work/gone/d.h5.journal" ] && break; sleep 0.02; done
rm -rf "$work/gone"
wait $pid && got=0 || got=$?
last="generate without its folder"
[ "$got" -eq 1 ] || { fail "$last: status $got, expected 1"; cat "$work/err"; }
says err "d.h5: was removed or replaced while it was being written"

# Nor is it thrown away by a command that makes another file there
cp "$d.journal" "$work/journal"
run 2 merge --out "$d" "$work/s0.h5" "$work/s1.h5"; says err "holds an unfinished run"
run 2 replay "$work/a.h5" --index 1 --out "$d"; says err "holds an unfinished run"
cmp "$d.journal" "$work/journal" || fail "$last: the journal was changed"
run 0 merge --out "$work/m.h5" "$work/s0.h5" "$work/s1.h5"
run 0 merge --out "$work/m.h5" "$work/s0.h5" "$work/s1.h5"

# No room for the file at all: nothing is left, and a file that was there stays
for old in none present; do
    mkdir "$work/$old"
    [ $old = none ] || cp "$work/a.h5" "$work/$old/f.h5"
    (ulimit -f 8; exec "$lathe" generate --config "$c" --output "$work/$old/f.h5") >"$work/out" 2>"$work/err" && got=0 || got=$?
    last="generate without room"
    [ "$got" -eq 1 ] || { fail "$last: status $got, expected 1"; cat "$work/err"; }
    says err "too large"
    [ "$(ls "$work/$old")" = "$([ $old = none ] || echo f.h5)" ] || fail "$last: left $(ls "$work/$old")"
    [ $old = none ] || cmp "$work/a.h5" "$work/$old/f.h5" || fail "$last: the old file was changed"
done

# A full disk is called that, whatever was refused first (where a user may mount one)
mkdir "$work/small"
for left in 0 4 8 40; do
    unshare -rm sh -c 'mount -t tmpfs -o size=1m none "$1" && { head -c $((1048576 - 1024 * $2)) /dev/zero >"$1/fill" 2>/dev/null || :; } && exec "$3" generate --config "$4" --output "$1/f.h5"' \
        sh "$work/small" $left "$lathe" "$c" >"$work/out" 2>"$work/err" && got=0 || got=$?
    last="generate with $left KiB of disk"
    if grep -qE "unshare|mount" "$work/err"; then break; fi
    [ "$got" -eq 1 ] || fail "$last: status $got, expected 1"
    says err "No space left on device"
done

# Room for a part of it: commands that cannot resume leave nothing behind; an unfinished run of generate stays, and goes on
mkdir "$work/part"
run 0 generate --config "$c" --output "$work/whole.h5" --quiet
for blocks in 140 160 180 200 220 240 260; do
    for request in "merge --out $work/part/f.h5 $work/s0.h5 $work/s1.h5" "replay $work/a.h5 --index 1 --out $work/part/f.h5" \
        "extract-features $work/a.h5 --output $work/part/f.h5 --enable-spatial"; do
        # shellcheck disable=SC2086
        (ulimit -f $blocks; exec "$lathe" $request) >"$work/out" 2>"$work/err" && got=0 || got=$?
        last="$request in $blocks blocks"
        [ "$got" -le 1 ] || { fail "$last: status $got, expected 0 or 1"; cat "$work/err"; }
        [ "$got" -eq 0 ] || [ -z "$(ls "$work/part")" ] || fail "$last: left $(ls "$work/part")"
        rm -f "$work/part/"*
    done
    (ulimit -f $blocks; exec "$lathe" generate --config "$c" --output "$work/part/f.h5") >"$work/out" 2>"$work/err" && got=0 || got=$?
    [ "$got" -eq 0 ] || run 0 generate --config "$c" --output "$work/part/f.h5" --resume --quiet
    cmp "$work/whole.h5" "$work/part/f.h5" || fail "resumed after $blocks blocks: not the bytes of an undisturbed run"
    rm -f "$work/part/"*
done

# What is wrong with a journal is said, with the way out
for bytes in 4096 3; do
    cp "$d.journal" "$work/journal"
    head -c $bytes /dev/zero | dd of="$d.journal" conv=notrunc 2>/dev/null
    # shellcheck disable=SC2086
    run 2 generate $long --resume; says err "d.h5.journal: damaged"; says err "remove this file and resume"
    cp "$work/journal" "$d.journal"
done

# A private dataset stays private, and so does its journal
chmod 600 "$d"
rm "$d.journal"
run 0 generate --config "$c" --output "$d" --overwrite --quiet
case $(ls -l "$d") in -rw-------*) ;; *) fail "$last: $(ls -l "$d")" ;; esac

# Two plain runs close together: one of them makes the dataset, the other makes it anew or is refused
for wait in 0 0.01 0.02 0.03 0.05 0.08; do
    rm -f "$work/d/"*
    "$lathe" generate --config "$c" --output "$d" --quiet >"$work/first" 2>&1 &
    pid=$!
    sleep $wait
    "$lathe" generate --config "$c" --output "$d" --quiet >"$work/out" 2>"$work/err" && second=0 || second=$?
    wait $pid && first=0 || first=$?
    case "$first $second" in "0 0" | "0 2" | "2 0") ;; *) fail "two runs $wait s apart: status $first and $second"; cat "$work/first" "$work/err" ;; esac
    last="two runs $wait s apart"
    [ "$second" -eq 0 ] || says err "another process is writing this dataset"
    [ "$(ls "$work/d")" = d.h5 ] || fail "$last: left $(ls "$work/d")"
    run 0 validate "$d"; says out "8 done"
done

# A dataset is read through a link to it, and through a link in its path
mkdir "$work/elsewhere"
ln -s ../d/d.h5 "$work/elsewhere/link.h5"
ln -s d "$work/way"
for name in "$work/elsewhere/link.h5" "$work/way/d.h5"; do
    run 0 validate "$name"; says out "8 done"
    run 0 info "$name"; says out "$name"
    run 0 table "$name" --csv "$work/t.csv"
    run 0 replay "$name" --index 1
done

# Not plain files: refused before anything is made, or written through
ln -s d.h5 "$work/d/link.h5"
ln -s nothing.h5 "$work/d/dangling.h5"
mkfifo "$work/d/pipe.h5"
run 0 generate --config "$c" --output "$work/d/link.h5" --total-samples 4 --quiet
[ -L "$work/d/link.h5" ] || fail "$last: the link was replaced"
run 0 validate "$d"; says out "4 done"
for option in "" --overwrite --resume; do
    # shellcheck disable=SC2086
    { run 2 generate --config "$c" --output "$work/d/dangling.h5" $option; says err "leads to no file"
      run 2 generate --config "$c" --output "$work/d/pipe.h5" $option; says err "not a regular file"; }
done
run 2 merge --out "$work/d/pipe.h5" "$work/s0.h5" "$work/s1.h5"; says err "not a regular file"
[ "$(ls "$work/d" | tr '\n' ' ')" = "d.h5 dangling.h5 link.h5 pipe.h5 " ] || fail "beside the dataset lies $(ls "$work/d")"
finish
