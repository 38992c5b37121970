#!/bin/sh
# Datasets made by several ranks: equal to one process, byte for byte, also after kills and with another number of ranks; bad input is one sentence.
# generate.sh FLAVOUR LATHE [KILLS]. SPDX-License-Identifier: BSD-3-Clause
set -u
FLAVOUR=$1 lathe=$2 KILLS=${3:-2}
. "$(dirname "$0")/mpirun.sh"
"$lathe" doctor | grep -q "^ok       $FLAVOUR" || skip "lathe was built without $FLAVOUR"
"$lathe" doctor | grep -q '^ok       hdf5' && "$lathe" doctor | grep -q '^ok       yaml' || skip "built without HDF5 or YAML"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$lathe" "$work/lathe"
ln -s "$(dirname "$(dirname "$(readlink -f "$lathe")")")/fake-quick" "$work/gpu"
lathe=$work/lathe gpu=$work/gpu # names without spaces, wherever the build is; the GPU is made up
LATHE_CACHE=$work/cache; export LATHE_CACHE
failed=0
fail() { echo "FAILED: $*"; failed=1; }
equal() { cmp -s "$work/one.h5" "$1" || fail "$1 differs from the file of one process: $2"; }

# Operators of different cost; states are kept, so rows arrive in pieces.
config() {
    cat > "$work/c.yaml" <<EOF
metadata: {name: ranks}
parameter_space:
  architecture: {num_layers: {type: integer, bounds: [2, 4]}, base_channels: {type: choice, choices: [8, 16]}, kernel_size: {type: choice, choices: [3]},
    activation: {type: choice, choices: [gelu]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}
  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [16, 32]}}
sampling: {total_samples: $1}
simulation: {device: cpu, precision: float32, num_realizations: 2, num_timesteps: 8, input_generation: {method: structured}}
dataset: {output_path: $work/k.h5, storage: {chunk_size: 4, store_trajectories: true, compression: none}}
EOF
}
generate="$lathe generate --quiet --config $work/c.yaml"

config 50
$generate --output "$work/one.h5" > /dev/null || fail "one process"
for n in 2 4; do
    under 100 $n $generate --output "$work/r.h5" --overwrite > "$work/out" 2>&1 || { fail "$n ranks: status $?"; cat "$work/out"; }
    equal "$work/r.h5" "$n ranks"
    [ ! -e "$work/r.h5.journal" ] || fail "$n ranks: the journal is left"
done

# More ranks than rows.
config 2
$generate --output "$work/one.h5" > /dev/null || fail "one process, 2 rows"
under 100 4 $generate --output "$work/r.h5" > "$work/out" 2>&1 || { fail "more ranks than rows: status $?"; cat "$work/out"; }
equal "$work/r.h5" "more ranks than rows"

# pids N: the processes of ranks that write OUTPUT, when there are N.
pids() { for _ in $(seq 200); do list=$(pgrep -f "^$lathe generate .*$work/k.h5" | head -n "$1"); [ "$(echo "$list" | wc -w)" = "$1" ] && break; sleep 0.05; done; echo $list; }
begin() { # starts ranks in the background, waits until rows are in the journal: begin N OPTIONS
    n=$1
    shift
    under 100 $n $generate --output "$work/k.h5" "$@" > "$work/out" 2>&1 &
    pid=$!
    list=$(pids $n)
    for _ in $(seq 400); do [ -n "$(find "$work" -name k.h5.journal -size +64k)" ] && break; kill -0 $pid 2>/dev/null || break; sleep 0.02; done
}
# ended WHAT: all ranks have ended, soon, and the launcher not with 0.
ended() {
    ranks_ended $list || fail "$1: a rank outlives the one that was killed"
    launcher_ended $pid && fail "$1: status 0"
}

# Ranks are killed, rank 0 too, each run resumed with another number of them; what was finished stays, and two ranks end it.
config 300
$generate --output "$work/one.h5" > /dev/null || fail "one process, 300 rows"
killed=0 resume=
for round in $(seq $((4 * KILLS))); do
    [ $killed -lt $KILLS ] || break
    begin $((2 + killed % 3)) $resume
    set -- $list
    [ $# -gt 0 ] || { fail "no ranks to kill"; break; }
    shift $(((killed * 5 + 1) % $#))
    kill -9 "$1" 2>/dev/null || { wait $pid; [ ! -e "$work/k.h5.journal" ] && { equal "$work/k.h5" "ended before the kill"; rm -f "$work/k.h5"; resume=; }; continue; }
    killed=$((killed + 1)) resume=--resume
    ended "kill $killed"
    "$lathe" info "$work/k.h5" > "$work/info" 2>&1 || { fail "kill $killed: the file cannot be read"; cat "$work/info"; }
    if [ ! -e "$work/k.h5.journal" ]; then equal "$work/k.h5" "kill $killed came too late"; rm -f "$work/k.h5"; resume=; fi
done
[ $killed -ge $KILLS ] || fail "$killed of $KILLS kills"
echo "$killed ranks were killed"
under 100 2 $generate --output "$work/k.h5" $resume > "$work/out" 2>&1 || { fail "resumed with 2 ranks: status $?"; cat "$work/out"; }
equal "$work/k.h5" "killed $killed times, resumed with other numbers of ranks"

# The time limit of a batch system: SIGTERM to all, operators at hand are finished, status 0.
rm -f "$work/k.h5"
begin 3 --requeue
for p in $list; do kill -TERM "$p" 2>/dev/null; done
wait $pid || { fail "--requeue: status $?"; cat "$work/out"; }
grep -q 'resume me: [0-9]* of 300 operators are done' "$work/out" || { fail "--requeue: it does not say so"; cat "$work/out"; }
$generate --output "$work/k.h5" --resume > /dev/null || fail "--requeue: resumed by one process"
equal "$work/k.h5" "drained and resumed"

# refused STATUS 'sentence' ARGUMENTS of mpirun...
refused() {
    want=$1 text=$2
    shift 2
    timeout -k 5 60 "$@" > "$work/out" 2>&1
    got=$?
    ranks_gave "$want" "$got" "$work/out" || { fail "$text: status $got, expected $want"; cat "$work/out"; }
    [ "$(grep -c -- "$text" "$work/out")" = 1 ] || { fail "not said once: $text"; cat "$work/out"; }
}
sed 's/total_samples: 300/total_samples: 301/' "$work/c.yaml" > "$work/d.yaml"
refused 2 'rank 1 has not the same configuration as rank 0' $(launcher -n 1) $generate --output "$work/q.h5" : -n 1 "$lathe" generate --quiet --config "$work/d.yaml" --output "$work/q.h5"
refused 2 'rank 1 (process .*): .*gone.yaml' $(launcher -n 1) $generate --output "$work/q.h5" : -n 1 "$lathe" generate --quiet --config "$work/gone.yaml" --output "$work/q.h5"
refused 2 'rank 1 has not the same subcommand as rank 0' $(launcher -n 1) $generate --output "$work/q.h5" : -n 1 "$lathe" solve example:A1
if ! "$lathe" doctor | grep -q '^ok       instruction set  plain'; then
    refused 2 'rank 1 has not the same kind of device as rank 0: cpu, float32 (plain), not cpu' $(launcher -n 1) $generate --output "$work/q.h5" : -n 1 env LATHE_ISA=plain $generate --output "$work/q.h5"
fi
# Libraries that would compute other last bits.
"$lathe" doctor | grep -q '^ok       onednn' &&
    refused 2 'rank 1 has not the same oneDNN as rank 0: .*, not ' $(launcher -n 1) $generate --output "$work/q.h5" : -n 1 env ONEDNN_MAX_CPU_ISA=SSE41 $generate --output "$work/q.h5"
"$lathe" doctor | grep -q '^ok       openblas' &&
    refused 2 'rank 1 has not the same OpenBLAS as rank 0: none, not OpenBLAS' $(launcher -n 1) $generate --output "$work/q.h5" : -n 1 env LATHE_OPENBLAS=/nowhere $generate --output "$work/q.h5"
refused 2 'no-such-option' $(launcher -n 3) $generate --no-such-option
refused 2 'engine.watchdog is on, which ranks do not have' $(launcher -n 2) $generate --output "$work/q.h5" --watchdog on
refused 1 'solve does not share its work between ranks: give --starts or --sweep' $(launcher -n 2) "$lathe" solve example:A1
refused 1 'demo does not share its work between ranks' $(launcher -n 2) "$lathe" demo --report "$work/q.h5"
[ ! -e "$work/q.h5" ] || fail "a refused run left a file"

# CPUs and GPUs in one run. The GPU is made up and its kernels only count, so that its rows are not finite: each row must say truly who made it.
[ -e "$gpu/libcuda.so.1" ] || { echo "no made-up GPU in this build"; exit $failed; }
config 300
sed -i 's/device: cpu/device: cuda/' "$work/c.yaml"
mixed() { # OPTIONS: rank 0 has a CPU, rank 1 a GPU
    echo "$(launcher -n 1) env LATHE_CUDA=/nowhere $generate $* : -n 1 env LATHE_CUDA=$gpu $generate $*"
}
refused 2 'rank 1 has not the same kind of device as rank 0' $(mixed --output "$work/m.h5")
[ ! -e "$work/m.h5" ] || fail "ranks of two kinds left a file"

# Cache folders of their own, where a clock may have chosen other steps: all take those of compiled graphs unless their files say the same.
steps() { # WHAT STEP REASON
    timeout -k 5 100 $(launcher -n 1) env LATHE_CUDA=$gpu LATHE_CACHE=$work/cache0 $generate --json --output "$work/s.h5" --overwrite : -n 1 env LATHE_CUDA=$gpu LATHE_CACHE=$work/cache1 \
        $generate --json --output "$work/s.h5" --overwrite > "$work/out" 2>&1 || { fail "$1: status $?"; cat "$work/out"; }
    grep -q "\"step\": \"$2\"" "$work/out" && grep -q "\"step_reason\": \"$3" "$work/out" || { fail "$1"; grep '"step' "$work/out"; }
}
steps "nothing is known" graph "fused steps were tried on this card: graph, since mma was off"
sed -i 's/: graph, since[^:]*:/: mma :/' "$work"/cache1/tune-*.txt
steps "rank 1 alone takes fused steps" graph "ranks would take different steps: graph on rank 0"
cp "$work"/cache1/tune-*.txt "$work/cache0"
steps "both take fused steps" mma '"'
# A run that was killed goes on with the steps it was begun with, by ranks and by one process with its worker.
config 2000
sed -i 's/device: cpu/device: cuda/' "$work/c.yaml"
on_gpus="env LATHE_CUDA=$gpu LATHE_CACHE=$work/cache2 $generate --output $work/s.h5 --resume"
rm -f "$work/s.h5"
LATHE_CUDA_STEP=mma timeout -k 5 100 $(launcher -n 2) $on_gpus > "$work/out" 2>&1 &
pid=$!
for _ in $(seq 600); do [ -n "$(find "$work" -name s.h5.journal -size +64k)" ] && break; kill -0 $pid 2>/dev/null || break; sleep 0.02; done
list=$(pgrep -f "^$lathe generate .*$work/s.h5" | head -n 2)
for p in $list; do kill -9 "$p" 2>/dev/null; done
ranks_ended $list || fail "steps, killed: a rank lives"
launcher_ended $pid
[ -e "$work/s.h5.journal" ] || fail "steps: ended before the kill"
refused 2 'its rows were made by mma steps, here they would be graph ones' $(launcher -n 2) $on_gpus
refused 2 'its rows were made by mma steps, here they would be graph ones' $on_gpus
config 300
sed -i 's/device: cpu/device: cuda/' "$work/c.yaml"

rows_have_kinds() { # every row has a kind, and those of the GPU are the ones without numbers: rows_have_kinds WHAT ROWS
    "$lathe" info "$work/m.h5" > "$work/info" 2>&1 || fail "$1: the file cannot be read"
    cpu=$(sed -n 's/^rows were made:\(.*,\)* \([0-9]*\) on cpu.*/\2/p' "$work/info") cuda=$(sed -n 's/^rows were made:\(.*,\)* \([0-9]*\) on cuda.*/\2/p' "$work/info")
    [ $((${cpu:-0} + ${cuda:-0})) = "$2" ] && grep -q "^rows: ${cpu:-0} done, ${cuda:-0} not finite" "$work/info" || { fail "$1"; sed -n 1,4p "$work/info"; }
}
timeout -k 5 100 $(mixed --output "$work/m.h5" --mixed-devices) > "$work/out" 2>&1 || { fail "mixed devices: status $?"; cat "$work/out"; }
rows_have_kinds "mixed devices" 300
[ "${cuda:-0}" -gt 0 ] && [ "${cpu:-0}" -gt 0 ] || fail "one of the ranks made no row: $cpu on cpu, $cuda on cuda"
refused 2 'its rows are of several kinds of device' env LATHE_CUDA=/nowhere $generate --output "$work/m.h5" --resume
LATHE_CUDA=/nowhere $generate --output "$work/m.h5" --resume --mixed-devices --total-samples 310 > "$work/out" 2>&1 || { fail "grown: status $?"; cat "$work/out"; }
before=$cuda
rows_have_kinds "mixed devices, grown" 310
[ "$cuda" = "$before" ] || fail "grown: $cuda rows on cuda, $before before"
# A kill: what the journal has keeps its kind.
rm -f "$work/m.h5"
timeout -k 5 100 $(mixed --output "$work/m.h5" --mixed-devices) > "$work/out" 2>&1 &
pid=$!
for _ in $(seq 400); do [ -n "$(find "$work" -name m.h5.journal -size +256k)" ] && break; kill -0 $pid 2>/dev/null || break; sleep 0.02; done
list=$(pgrep -f "^$lathe generate .*$work/m.h5" | head -n 2)
for p in $list; do kill -9 "$p" 2>/dev/null; done
ranks_ended $list || fail "mixed, killed: a rank lives"
launcher_ended $pid
timeout -k 5 100 $(mixed --output "$work/m.h5" --mixed-devices --resume) > "$work/out" 2>&1 || { fail "mixed, resumed: status $?"; cat "$work/out"; }
rows_have_kinds "mixed devices, killed and resumed" 300
exit $failed
