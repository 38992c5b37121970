#!/bin/sh
# Rollouts in a worker process, as a user meets them: killed, stopped, interrupted with all of the run or left behind: workers.sh LATHE.
# SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

run 2 --dataset-worker 3<&-; says err "lathe: --dataset-worker is for 'lathe generate' to start"; silent out

if ! "$lathe" doctor | grep -q '^ok       hdf5' || ! "$lathe" doctor | grep -q '^ok       yaml'; then
    echo "skipped: built without HDF5 or YAML"; finish
fi
if [ ! -e "/proc/$$/task/$$/children" ] || ! command -v setsid >/dev/null 2>&1; then
    echo "skipped: this system does not list children of processes, or has no setsid"; finish
fi

rows=24
cat > "$work/c.yaml" <<EOF
metadata: {name: workers}
parameter_space:
  architecture: {num_layers: {type: choice, choices: [3]}, base_channels: {type: choice, choices: [8]}, kernel_size: {type: choice, choices: [3]},
    activation: {type: choice, choices: [gelu]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}
  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [64]}}
sampling: {total_samples: $rows}
simulation: {device: cpu, precision: float32, num_realizations: 4, num_timesteps: 20, input_generation: {method: structured}}
dataset: {output_path: $work/k.h5, storage: {chunk_size: 4, store_trajectories: true, compression: none}}
EOF
watched="generate --config $work/c.yaml --watchdog on"

# begin OPTIONS…: starts a watched run in a group of its own; once states are written $pid is the command and $worker its worker.
begin() {
    rm -f "$work/k.h5" "$work/k.h5.journal"
    # shellcheck disable=SC2086
    setsid "$lathe" $watched "$@" >"$work/out" 2>"$work/err" &
    pid=$!
    last="lathe $watched $*"
    worker=
    for _ in $(seq 400); do
        [ -n "$(find "$work" -name k.h5.journal -size +64k)" ] && worker=$(cat "/proc/$pid/task/$pid/children") && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    worker=${worker%% *}
    [ -n "$worker" ] || { fail "$last: no worker was seen"; cat "$work/err"; kill -9 $pid 2>/dev/null; finish; }
}
ends() { wait $pid && got=0 || got=$?; [ "$got" -eq "$1" ] || { fail "$last: status $got, expected $1"; cat "$work/err"; }; } # ends STATUS
gone() { # a process of that number, after a moment
    for _ in $(seq 100); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.05; done
    fail "$last: process $1 is still there"
}
# What was done is kept, nothing is marked failed, and the rest is made.
resumes() {
    run 0 info "$work/k.h5"; says out ", 0 failed, "
    if grep -q ", 0 pending" "$work/out"; then fail "$last: the run was over before it was stopped"; fi
    # shellcheck disable=SC2086
    run 0 $watched --resume --quiet
    run 0 validate "$work/k.h5"; says out "$rows done"
}

# shellcheck disable=SC2086
run 0 $watched; says out "rollouts ran in 1 worker process"
run 0 validate "$work/k.h5" --check-samples; says out "$rows done"

# A worker that is killed or stopped is replaced.
begin; kill -9 "$worker"; ends 0; says out " worker processes"; gone "$worker"
begin --watchdog-seconds 0.1; kill -STOP "$worker"; ends 0; says out " worker processes"; gone "$worker"

# Signals to the command, and to all its processes at once, the worker first, as a scheduler may.
begin; kill -INT $pid; ends 130; says err "goes on"; gone "$worker"; resumes
begin; kill -TERM $pid; ends 130; says err "goes on"; gone "$worker"; resumes
for signal in INT TERM; do
    begin; kill -$signal "$worker"; kill -$signal -$pid; ends 130; gone "$worker"; resumes
done

# Nothing is left behind by a command that has no time to say goodbye.
begin; kill -9 $pid; wait $pid 2>/dev/null; gone "$worker"; resumes
finish
