#!/bin/sh
# lathe generate and the commands on its files as a user meets them: generate.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

cat >"$work/c.yaml" <<'YAML'
metadata: {name: cli}
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
cat "$work/err"
[ -s "$work/a.h5" ] || fail "the first dataset was not written"
last="lathe generate"; says out "samples           8 (16 realizations)"; says out "inference"
cp "$work/a.h5" "$work/before.h5"
run 0 generate --config "$c" --output "$work/a.h5" --resume; says out "8 done before"; says err "rollouts run on the CPU, as simulation.device says"
cmp -s "$work/a.h5" "$work/before.h5" || fail "$last: a finished dataset was changed"

# JSON, dry run, report
run 0 generate --config "$c" --output "$work/j.h5" --json --report "$work/j.html"; is_json "$work/out"; says out '"samples": 8'; silent err
grep -q "</html>" "$work/j.html" || fail "the report is not whole"
for word in "Parameter coverage" "Trajectories" "Update policies" "of that"; do grep -q "$word" "$work/j.html" || fail "the report lacks '$word'"; done
run 0 generate --config "$c" --output "$work/dry.h5" --dry-run; says out "TFLOP"; says out "estimated"; [ ! -e "$work/dry.h5" ] || fail "--dry-run wrote a file"
run 0 generate --config "$c" --output "$work/dry.h5" --dry-run --json; is_json "$work/out"; says out '"estimated_seconds"'
run 0 generate --config "$c" --output "$work/v.h5" --verbose --total-samples 5 --num-realizations 1 --batch-size 2 --seed 9 --threads 1; says out "cli: 5 operators"

run 0 generate --config "$c" --output "$work/all.h5" --quiet --batch-size 9223372036854775807 # no row is handed on before the last
cmp "$work/all.h5" "$work/a.h5" || fail "$last: another dataset"

# Keys without effect
sed 's/^metadata: {name: cli}/metadata: {name: cli, author: me}/; s/batch_size: 4/bacth_size: 4/' "$c" >"$work/idle.yaml"
run 0 generate --config "$work/idle.yaml" --output "$work/idle.h5" --explain-config; silent err
says out "idle.yaml:1:31: metadata.author: a note for people"; says out "sampling.bacth_size: unknown: did you mean 'batch_size'?"; says out "2 keys have no effect"
run 0 generate --config "$work/idle.yaml" --output "$work/idle.h5" --explain-config --json; is_json "$work/out"; says out '"without_effect"'; says out '"key": "metadata.author"'
[ ! -e "$work/idle.h5" ] || fail "--explain-config wrote a file"
run 2 generate --config "$work/none.yaml" --explain-config

# An override of nothing is no override: it would run the whole configuration
for option in total-samples batch-size num-realizations; do
    run 2 generate --config "$c" --output "$work/zero.h5" --$option 0; says err "option '$option' is '0': expected an integer of at least 1"
done
[ ! -e "$work/zero.h5" ] || fail "$last: a refused run wrote a file"

# Looking at files
run 0 info "$work/a.h5" --verbose; says out "8 operators x 2 realizations x 12 steps"; says out "/features/temporal/features"; says out "spatial_mean"
run 0 validate "$work/a.h5" --check-samples --check-metadata; says out "0 warnings"; says out "features of 0 differ"
run 0 validate --dataset "$work/a.h5" --json; is_json "$work/out"; says out '"errors": 0'
run 0 replay "$work/a.h5" --index 3 --realization 1 --out "$work/r.h5" --weights-out "$work/w.npz"; says out "operator 3"
run 0 info "$work/r.h5"; says out "[1, 1, 12, 3, 16, 16]"
run 0 replay "$work/a.h5" --index 3 --json; is_json "$work/out"; says out '"status": "done"'
run 0 extract-features "$work/a.h5" --output "$work/e.h5" --enable-spatial --max-samples 3; says out "3 operators"
run 0 info "$work/e.h5"; says out "[3, 12, 24]"
run 0 visualize-features "$work/a.h5" --output "$work/f.png" --operator-indices 0,2-3 --width-px 64
run 0 visualize-dataset "$work/a.h5" --n-operators 2 --steps 4 --stride 2 --format frames --output "$work/m.mp4" --size 32x24 --aggregates mean,pca,ssim \
    --aggregates spectral,overlay --color-norm-mode global --sampling-method diverse --normalization zscore --clamp-min -3 --clamp-max 3
[ -s "$work/m_frames/frame_00001.png" ] && [ ! -e "$work/m_frames/frame_00002.png" ] || fail "$last: not two frames"
run 0 visualize-dataset "$work/a.h5" --dry-run --json; is_json "$work/out"; says out '"operators": 8'
# A stand-in for ffmpeg: its arguments, and the bytes of the frames
mkdir "$work/bin"
printf '#!/bin/sh\nfor last; do :; done\nfile=${last#file:}\necho "$@" >"$file.args"\ncat >"$file"\n' >"$work/bin/ffmpeg"
chmod +x "$work/bin/ffmpeg"
PATH="$work/bin:$PATH" run 0 visualize-dataset "$work/a.h5" --n-operators 1 --steps 3 --output "$work/film.mp4" --size 16x16 --aggregates none --no-spacing; says out "film.mp4"
grep -q "rgb24 -s 32x96 -r 30" "$work/film.mp4.args" || fail "ffmpeg was told $(cat "$work/film.mp4.args")"
[ "$(wc -c <"$work/film.mp4")" -eq $((32 * 96 * 3 * 3)) ] || fail "ffmpeg got $(wc -c <"$work/film.mp4") bytes"
# A name that looks like an option is a file all the same
(cd "$work" && PATH="$work/bin:$PATH" run 0 visualize-dataset a.h5 --n-operators 1 --steps 3 --output=-x.mp4 --size 16x16 --aggregates none)
grep -q " file:-x.mp4$" "$work/-x.mp4.args" || fail "ffmpeg was told $(cat "$work/-x.mp4.args")"

# Shards
for i in 0 1; do run 0 generate --config "$c" --output "$work/s$i.h5" --shard $i/2 --quiet; done
run 0 merge --out "$work/m.h5" "$work/s0.h5" "$work/s1.h5"; says out "8 rows from 2 shards"; silent err
sed 's/, batch_size: 4//' "$c" >"$work/sizeless.yaml" # the batch size, which shards may have of their own, left out
for i in 0 1; do run 0 generate --config "$work/sizeless.yaml" --output "$work/n$i.h5" --shard $i/2; done
run 0 merge --out "$work/n.h5" "$work/n0.h5" "$work/n1.h5"; says out "8 rows from 2 shards"
run 0 info "$work/m.h5"; says out "rows were made: 8 on cpu"
# One that says it comes from elsewhere
LC_ALL=C sed 's/\x00cpu\x00/\x00xpu\x00/' "$work/s1.h5" >"$work/x1.h5"
cmp -s "$work/s1.h5" "$work/x1.h5" && fail "the device of a shard was not found in it"
run 0 merge --out "$work/mx.h5" "$work/s0.h5" "$work/x1.h5"; says err "made on different devices (rows: 4 on cpu, 4 on xpu)"; says out "8 rows"
run 0 merge --out "$work/mx.h5" "$work/s0.h5" "$work/x1.h5" --json --quiet; is_json "$work/out"; says out '"device": "several"'; says out '"xpu": 4'; silent err
run 0 info "$work/mx.h5"; says out "rows were made: 4 on cpu, 4 on xpu"; says out "/status/device"
run 0 info "$work/mx.h5" --json; is_json "$work/out"; says out '"xpu": 4'
run 0 merge --out "$work/mm.h5" "$work/mx.h5"; cmp "$work/mx.h5" "$work/mm.h5" || fail "$last: the devices of rows were not kept"
run 0 extract-features "$work/mx.h5" --output "$work/ex.h5" --quiet --max-samples 3
run 0 info "$work/ex.h5"; says out "rows were made: 2 on cpu, 1 on xpu"
run 0 validate "$work/mx.h5" --check-metadata
cp "$work/s0.h5" "$work/one.h5"
run 2 generate --config "$c" --output "$work/one.h5" --shard 1/2; says err "holds shard 0/2, and this run makes 1/2"
run 2 generate --config "$c" --output "$work/one.h5"; says err "holds shard 0/2, and this run makes 0/1"
cmp -s "$work/one.h5" "$work/s0.h5" || fail "$last: a shard was written over"
run 0 generate --config "$c" --output "$work/one.h5" --shard 1/2 --overwrite --quiet
run 0 generate --config "$c" --output "$work/one.h5" --shard 1/2 --quiet
run 0 validate "$work/m.h5" --check-samples --check-metadata
run 2 merge --out "$work/bad.h5" "$work/s0.h5"; says err "none of"
run 2 merge --out "$work/bad.h5" "$work/s0.h5" "$work/s0.h5"; says err "occurs twice"
run 2 merge "$work/s0.h5"; says err "--out"
ln "$work/s1.h5" "$work/also_s1.h5"
run 2 merge --out "$work/also_s1.h5" "$work/s0.h5" "$work/s1.h5"; says err "is also what the command reads"
run 2 generate --config "$c" --output "$work/bad.h5" --shard 2/2; says err "0 <= i < n"

# What the user got wrong: status 2, nothing half-written
run 2 generate; says err "--config"
run 0 generate "$c" --output "$work/operand.h5" --dry-run; run 2 generate "$c" --config "$c" --dry-run; says err "two configurations"
run 2 generate --config "$work/none.yaml"; says err "none.yaml"
printf 'metadata: {name: x\n' >"$work/broken.yaml"
run 2 generate --config "$work/broken.yaml"; says err "broken.yaml"
run 2 generate --config "$c" --output "$work/a.h5" --resume --num-realizations 3; says err "another configuration"
cp "$c" "$work/other.yaml"
run 2 generate --config "$c" --output "$work/other.yaml" --resume; says err "not an HDF5 file"

# What is written is none of what is read, and outputs are no folders and lie in folders that are there: said at once
run 2 generate --config "$c" --output "$c" --overwrite; says err "is also what --config reads"; silent out
run 2 generate --config "$c" --merge "$work/other.yaml" --output "$work/other.yaml" --overwrite; says err "is also what --merge reads"
sed "s|OUT.h5|$work/self.yaml|" "$c" >"$work/self.yaml"
run 2 generate --config "$work/self.yaml" --overwrite; says err "which is also the file of --config"
run 2 generate --config "$c" --output "$work/both" --report "$work/both"; says err "are the same file"
run 2 generate --config "$c" --output "$work"; says err "it is a folder"; silent out
cmp -s "$c" "$work/other.yaml" || fail "a configuration was written over"
for request in "replay $work/a.h5 --index 1 --out" "replay $work/a.h5 --index 1 --weights-out" "extract-features $work/a.h5 --output" "visualize-features $work/a.h5 --output" \
    "visualize-dataset $work/a.h5 --steps 2 --output" "visualize-ic-types --output" "merge $work/s0.h5 $work/s1.h5 --out"; do
    run 2 $request "$work/nowhere/file.h5"; says err "folder '$work/nowhere'"; silent out
    case $request in *.h5*) run 2 $request "$work/../${work##*/}/s0.h5" --profile "$work/s0.h5"; says err "must differ"; silent out ;; esac
done
run 2 replay "$work/a.h5" --index 1 --out "$work/a.h5"; says err "is also what the command reads"
run 2 replay --dataset "$work/a.h5" --index 1 --out "$work/a.h5"; says err "is also what --dataset reads"
cp "$work/a.h5" "$work/film.mp4"
run 2 visualize-dataset "$work/film.mp4" --steps 2; says err "would replace the dataset itself"
run 2 info "$work/none.h5"; says err "none.h5"
run 2 info; says err "--dataset"
run 2 info "$c"; says err "not an HDF5 file"
head -c 3000 "$work/a.h5" >"$work/short.h5"
run 2 info "$work/short.h5"; says err "short.h5"
run 2 validate "$work/short.h5"; says err "short.h5"
run 1 validate "$work/r.h5" --check-metadata --json; is_json "$work/out"; says out '"findings"'; says out "the configuration gives 8 rows, the file has 1"
run 2 replay "$work/a.h5"; says err "--index"
run 2 replay "$work/a.h5" --index 8; says err "expected 0..7"
run 2 replay "$work/a.h5" --index 0 --realization 2; says err "expected 0..1"
ln "$work/a.h5" "$work/also_a.h5"
cp "$work/a.h5" "$work/copy_of_a.h5"
run 2 extract-features "$work/a.h5" --output "$work/also_a.h5" --overwrite; says err "differ"
run 2 replay "$work/a.h5" --index 1 --out "$work/also_a.h5"; says err "differ"
run 2 replay "$work/a.h5" --index 1 --weights-out "$work/a.h5"; says err "differ"
run 2 visualize-features "$work/a.h5" --output "$work/a.h5"; says err "differ"
run 2 visualize-dataset "$work/a.h5" --output "$work/a.h5"; says err "differ"
cmp -s "$work/a.h5" "$work/copy_of_a.h5" || fail "a dataset was replaced by what was made from it"
run 2 generate --config "$c" --output "$work/other.yaml"; says err "no dataset"
head -c 3000 "$work/a.h5" >"$work/torn.h5"
run 2 generate --config "$c" --output "$work/torn.h5"; says err "--overwrite"
run 0 generate --config "$c" --output "$work/torn.h5" --overwrite --total-samples 1 --quiet
run 0 generate --config "$c" --output "$work/torn.h5" --total-samples 2 --quiet
run 2 visualize-features "$work/a.h5" --output "$work/f.png" --operator-indices 1,9; says err "expected 0..7"
run 2 visualize-dataset "$work/a.h5" --size 64; says err "WxH"
run 2 visualize-dataset "$work/a.h5" --aggregates meen; says err "did you mean 'mean'"
run 2 visualize-dataset "$work/a.h5" --aggregates zzz; says err "expected mean, envelope"
run 2 visualize-dataset "$work/a.h5" --steps 2 --colormap zzz; says err "expected viridis, plasma, inferno"
sed 's/method: structured/method: turing/' "$c" >"$work/near.yaml"
run 2 generate --config "$work/near.yaml"; says err "simulation.input_generation.method is 'turing': expected perhaps 'turing_pattern', one of"
printf 'summary: {spectral: {num_fft_scale: 3}}\n' >"$work/misspelt.yaml"
run 2 extract-features "$work/a.h5" --config "$work/misspelt.yaml" --output "$work/bad.h5"
says err "misspelt.yaml:1:37: unknown key 'features.summary.spectral.num_fft_scale': did you mean 'num_fft_scales'?"
printf 'summary: {spectral: {num_fft_scales: 99}}\n' >"$work/misspelt.yaml"
run 2 extract-features "$work/a.h5" --config "$work/misspelt.yaml" --output "$work/bad.h5"; says err "misspelt.yaml:1:38: features.summary.spectral.num_fft_scales is '99'"
run 2 visualize-dataset "$work/a.h5" --colormap nosuch --dry-run; says err "nosuch"
[ ! -e "$work/bad.h5" ] || fail "a failed run left a file"

# A place that cannot be written, a disk that is full: status 1, and what was written can be read
run 2 replay "$work/a.h5" --index 0 --out "$work/no/such/r.h5"; says err "no/such"
(ulimit -f 400; exec "$lathe" generate --config "$c" --output "$work/full.h5" --total-samples 200) >"$work/out" 2>"$work/err" && fail "a full disk went unnoticed" || got=$?
[ "$got" -eq 1 ] || { fail "a full disk: status $got, expected 1"; cat "$work/err"; }
last="generate on a full disk"; says err "too large"; says err "--resume"
run 0 info "$work/full.h5"; says out "pending"
run 0 generate --config "$c" --output "$work/full.h5" --total-samples 200 --resume --quiet
run 0 validate "$work/full.h5"; says out "200 done"

# Ctrl-C, then kill -9 again and again: the file opens each time and ends up the same
big="--config $c --total-samples 40 --merge $work/long.yaml"
printf 'simulation: {num_timesteps: 40}\n' >"$work/long.yaml"
# shellcheck disable=SC2086
{
run 0 generate $big --output "$work/whole.h5" --quiet
"$lathe" generate $big --output "$work/k.h5" --resume >"$work/out" 2>"$work/err" &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e "$work/k.h5.journal" ] && break; sleep 0.1; done
kill -INT $pid; wait $pid && got=0 || got=$?
[ "$got" -eq 130 ] || { fail "Ctrl-C: status $got, expected 130"; cat "$work/err"; }
run 0 info "$work/k.h5"; says out "k.h5.journal: finished rows that are not in the file yet"
run 0 info "$work/k.h5" --json; says out '"journal": true'
for wait in 0.13 0.31 0.22 0.47 0.05 0.38; do
    "$lathe" generate $big --output "$work/k.h5" --resume >"$work/out" 2>&1 &
    pid=$!
    sleep $wait
    kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
    run 0 info "$work/k.h5"
done
run 0 generate $big --output "$work/k.h5" --resume --quiet
run 0 info "$work/k.h5" --json; says out '"journal": false'
run 0 extract-features "$work/k.h5" --output "$work/k2.h5" --quiet
}
run 0 validate "$work/k.h5" --check-samples --check-metadata; says out "40 done"
[ ! -e "$work/k.h5.journal" ] || fail "a finished run left its journal"
if command -v cmp >/dev/null 2>&1 && command -v h5dump >/dev/null 2>&1; then
    for array in features/temporal/features features/summary/per_trajectory/features features/summary/aggregated/features inputs/fields; do
        for f in whole k k2; do h5dump -d /$array -b LE -o "$work/$f.bin" "$work/$f.h5" >/dev/null; done
        cmp -s "$work/whole.bin" "$work/k.bin" || fail "$array differs after kills"
        cmp -s "$work/whole.bin" "$work/k2.bin" || fail "$array differs when extracted"
    done
fi
finish
