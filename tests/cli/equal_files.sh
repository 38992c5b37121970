#!/bin/sh
# Equal input, equal files, byte for byte: equal_files.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

cat >"$work/c.yaml" <<'YAML'
metadata: {name: equal}
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
sampling: {total_samples: 40, batch_size: 10, sobol: {seed: 3}}
simulation:
  device: cpu
  precision: float32
  num_realizations: 2
  num_timesteps: 30
  input_generation: {method: structured}
dataset: {output_path: OUT.h5, storage: {chunk_size: 4, store_trajectories: true}}
features: {summary: {operator_features: true}}
YAML
c="$work/c.yaml"
if ! "$lathe" generate --config "$c" --output "$work/whole.h5" >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
[ -s "$work/whole.h5" ] || { fail "the first dataset was not written"; cat "$work/err"; }
same() { cmp "$work/whole.h5" "$1" || fail "$last: not the bytes of an undisturbed run"; }

# Nothing of the clock, of the place, of how the work was shared out
sleep 1
run 0 generate --config "$c" --output "$work/again, elsewhere.h5" --quiet; same "$work/again, elsewhere.h5"
run 0 generate --config "$c" --output "$work/t.h5" --quiet --threads 1 --batch-size 7; same "$work/t.h5"
run 0 generate --config "$c" --output "$work/w.h5" --quiet --watchdog on --device cpu; same "$work/w.h5"
for i in 0 1 2; do run 0 generate --config "$c" --output "$work/s$i.h5" --shard $i/3 --quiet; done
run 0 merge --out "$work/m.h5" "$work/s2.h5" "$work/s0.h5" "$work/s1.h5"; same "$work/m.h5"
run 0 info "$work/whole.h5"; grep -q "written by lathe (engine [^ ]*), float32" "$work/out" || fail "$last: $(sed -n 2p "$work/out")"

# With times when they are asked for
run 0 generate --config "$c" --output "$work/times.h5" --record-times --quiet
cmp -s "$work/whole.h5" "$work/times.h5" && fail "$last: no times"
run 0 info "$work/times.h5"; says out " on $(date -u +%Y)-"
if command -v h5dump >/dev/null 2>&1; then
    h5dump -d /status/seconds "$work/times.h5" | grep -q '(0): [0-9.e-]*[1-9]' || fail "seconds were not recorded"
    h5dump -d /status/seconds "$work/whole.h5" | grep -q '(0): 0, 0, 0' || fail "seconds were recorded unasked"
fi

# Killed, interrupted, resumed with other threads and batches
k="$work/k.h5"
kills=0
for round in 1 2 3 4 5 6 7 8; do
    signal=KILL
    [ $((round % 3)) -eq 0 ] && signal=INT
    "$lathe" generate --config "$c" --output "$k" --resume --threads $((round % 2 + 1)) --batch-size $((3 + round)) >"$work/out" 2>&1 &
    pid=$!
    sleep 0.$((1 + round % 4))
    kill -$signal $pid 2>/dev/null && kills=$((kills + 1)); wait $pid 2>/dev/null
    [ ! -e "$k" ] || { run 0 info "$k"; }
done
run 0 generate --config "$c" --output "$k" --resume --quiet; same "$k"
[ ! -e "$k.journal" ] || fail "a finished run left its journal"
echo "$kills runs were killed or interrupted"
finish
