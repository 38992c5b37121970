#!/bin/sh
# Rows whose device fails, as a user meets them: cuda_rows.sh LATHE BUILD SOURCE. Driver and libraries are made up (tests/device/fake_*.c):
# they refuse a handle in two hands or two captures, and fail as often as FAKE_FAULTS says. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
build=$2
. "$(dirname "$0")/lib.sh"
LATHE_CUDA=$build/fake-math
FAKE_FAULTS=$work/faults:7
export LATHE_CUDA FAKE_FAULTS
for part in hdf5 yaml NVRTC; do
    "$lathe" doctor | grep -q "^ok       $part" || { echo "skip: no $part here"; exit 77; }
done

# Two architectures, so that little is compiled; several operators run side by side while the lane ahead records sequences. States are
# stored, so that a row that begins again leaves those of its first run behind.
cat >"$work/over.yaml" <<END
parameter_space:
  architecture: {num_layers: {type: choice, choices: [2]}, base_channels: {type: choice, choices: [8]}, kernel_size: {type: choice, choices: [3]},
    activation: {type: choice, choices: [gelu]}}
  operator: {normalization: {type: choice, choices: [instance, none]}}
dataset: {storage: {store_trajectories: true}}
END
cp "$3/tests/operators/side_by_side.yaml" "$work/side.yaml" # a name without spaces
generate="generate --config $work/side.yaml --merge $work/over.yaml --device cuda"
few="--total-samples 24"
faults() { head -c "$1" /dev/zero >"$work/faults"; }

faults 0
run 0 $generate $few --output "$work/calm.h5"; says out "rollouts ran in 1 worker process"
! grep "tried again" "$work/out" || fail "$last: handles are shared"
run 0 validate "$work/calm.h5"

# Once, and a few times: run again, and said so. No row is lost.
for n in 1 4; do
    faults $n
    run 0 $generate $few --output "$work/shaken.h5" --overwrite; says out "for the device's sake, 0 operators stay lost"
    says out "CUDNN_STATUS_INTERNAL_ERROR; a fault made up by the test"
    [ ! -s "$work/faults" ] || fail "$last: only $((n - $(wc -c <"$work/faults"))) of $n faults struck"
    run 0 validate "$work/shaken.h5"
done
faults 2 # as many as one operator is tried again within a process: they may all strike the same
run 0 $generate $few --output "$work/shaken.h5" --overwrite --json; is_json "$work/out"; says out '"lost": 0'; says out '"retry_reason": "operator '
faults 2
run 0 $generate $few --output "$work/shaken.h5" --overwrite --watchdog off; says out "for the device's sake, 0 operators stay lost"

# For ever, whatever is tried: all rows are written, status 1, names; nothing of it is data.
generate="$generate --total-samples 17"
FAKE_FAULTS=$work/faults:1
faults 100000
run 1 $generate --output "$work/lost.h5"; says err "17 of 17 operators were lost to faults of the device, also when tried again: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ... ("
says err "what was written stays readable, and --resume goes on"
run 1 validate "$work/lost.h5"; says out "error    17 operators were lost to faults of the device: 0, 1, 2"; says err "1 of"
run 0 info "$work/lost.h5"; says out "0 pending, 17 lost to faults of the device"
run 2 $generate --output "$work/lost.h5"; says err "holds an unfinished run"
run 1 $generate --output "$work/lost.h5" --resume --json; is_json "$work/out"; says out '"lost": 17'; says out '"samples": 17'; says out '"lost_operators": ['

# A device that is itself again: a run that resumes makes them.
faults 0
run 0 $generate --output "$work/lost.h5" --resume; says out "samples           17 (34 realizations)"
run 0 validate "$work/lost.h5"
run 0 $generate --output "$work/lost.h5" --resume; says out "samples           0 (0 realizations), 17 done before"
finish
