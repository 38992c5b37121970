#!/bin/sh
# Features written into a dataset itself, by families and by documents: features.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/equal_files.sh" | grep -v '^YAML' >"$work/c.yaml"
c="$work/c.yaml"
if ! "$lathe" generate --config "$c" --output "$work/a.h5" --total-samples 10 >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
mkdir "$work/d"
f="$work/d/f.h5"
alone() { [ "$(ls "$work/d")" = f.h5 ] || fail "$last: left $(ls "$work/d")"; }

# The same features again, in place: the same bytes, states included; not without being asked
cp "$work/a.h5" "$f"
run 2 extract-features "$f"; says err "--overwrite"; cmp "$work/a.h5" "$f" || fail "$last: the file was changed"
run 0 extract-features "$f" --overwrite --quiet; alone; cmp "$work/a.h5" "$f" || fail "$last: not the same bytes"

# A family that is new needs no permission, and the others stay
run 0 extract-features "$f" --only initial --quiet; alone
run 0 info "$f"; says out "/features/initial/aggregated/features"; says out "/outputs/fields"
run 2 extract-features "$f" --only initial; says err "has initial features already"
run 2 extract-features "$f" --only nothing; says err "expected some of"
run 0 validate "$f"; says out "10 done"
run 2 extract-features "$f" --overwrite --max-samples 3; says err "would drop rows"

# A document with every section; null is in place
cat >"$work/doc.yaml" <<YAML
metadata: {name: all, description: every family, author: us, created: "2026-01-01", purpose: a test}
input_dataset: $f
output_dataset: null
batch_size: 4
device: cpu
num_workers: 4
cache_trajectories: false
overwrite: true
max_samples: null
temporal: {enabled: true}
summary: {spatial: {include_histogram: true, histogram_num_bins: 16}, spectral: {num_fft_scales: 4}}
architecture:
  version: "1.0.0"
  architecture: {enabled: true, include_depth: true, include_width: false}
  stratification: {enabled: false}
  include_learned_embeddings: false
initial:
  version: "1.0.0"
  manual: {enabled: true}
  cnn: {enabled: true, embedding_dim: 28, architecture: resnet3, use_vae: false, freeze_encoder: true}
  store_manual_separate: true
  store_cnn_separate: true
  store_combined: true
YAML
run 0 extract-features --config "$work/doc.yaml" --explain-config; says out "num_workers"; says out "freeze_encoder"
run 0 extract-features --config "$work/doc.yaml" --quiet; alone
run 0 info "$f" --verbose
for name in ic_cnn_00 ic_cnn_27 histogram_entropy arch_num_layers; do says out "$name"; done
for array in "/features/initial/manual/features *.10, 14" "/features/initial/cnn/features *.10, 28" "/features/initial/aggregated/features *.10, 42" "/outputs/fields"; do
    grep -q "$array" "$work/out" || fail "$last: no $array"
done
for name in arch_base_channels strat_hash fft_power_scale_4_mean; do grep -q "$name" "$work/out" && fail "$last: $name is switched off"; done
cp "$f" "$work/once.h5"
run 0 extract-features --config "$work/doc.yaml" --quiet; cmp "$work/once.h5" "$f" || fail "$last: the embedding is not a function of the seed"

# Bad documents leave the file alone
for bad in "initial: {cnn: {architecture: vgg}}" "initial: {cnn: {embedding_dim: 0}}" "architecture: {stochastic: {include_nothing: true}}" "summary: 3" "batch_size: many" "nothing: 1"; do
    echo "$bad" >"$work/bad.yaml"
    run 2 extract-features "$f" --config "$work/bad.yaml" --overwrite
    cmp -s "$work/once.h5" "$f" || fail "$bad: the file was changed"
done

# Killed: the old features are there until the new ones are whole; the same command goes on
sed 's/num_timesteps: 30/num_timesteps: 300/; s/store_trajectories: true/store_trajectories: false/' "$c" >"$work/l.yaml"
run 0 generate --config "$work/l.yaml" --output "$work/l.h5" --quiet
cp "$work/l.h5" "$f"; run 0 extract-features "$f" --overwrite --num-fft-scales 3 --quiet; cp "$f" "$work/want.h5"
cp "$work/l.h5" "$f"
for wait in 0.1 0.3 0.5 0.7; do
    "$lathe" extract-features "$f" --overwrite --num-fft-scales 3 >"$work/out" 2>&1 &
    pid=$!
    sleep $wait
    kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
    cmp -s "$work/l.h5" "$f" || cmp -s "$work/want.h5" "$f" || fail "killed after $wait s: the file is neither the old nor the new one"
done
run 0 extract-features "$f" --overwrite --num-fft-scales 3 --quiet; cmp "$work/want.h5" "$f" || fail "$last after kills: not the bytes of an undisturbed run"; alone
cp "$work/l.h5" "$f"
(ulimit -f 200; exec "$lathe" extract-features "$f" --overwrite --num-fft-scales 3) >"$work/out" 2>"$work/err" && fail "no room: status 0" || [ $? -eq 1 ] || fail "no room: $(cat "$work/err")"
cmp "$work/l.h5" "$f" || fail "no room: the file was changed"
finish
