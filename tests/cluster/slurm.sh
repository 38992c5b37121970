#!/bin/bash
# The batch script under a real Slurm, which this test starts for itself as root: jobs make the same file; SIGTERM drains, and the job is queued again.
# slurm.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "slurmd is started by root only"
for program in munged slurmctld slurmd sbatch; do command -v $program >/dev/null || skip "no $program here (Debian packages slurm-wlm, munge)"; done
[ -r /etc/munge/munge.key ] || skip "munge has no key here"
"$lathe" doctor | grep -q '^ok       openmpi' || skip "lathe was built without openmpi"
"$lathe" doctor | grep -q '^ok       hdf5' && "$lathe" doctor | grep -q '^ok       yaml' || skip "built without HDF5 or YAML"

work=$(mktemp -d)
chmod 755 "$work"
end() {
    for pid in $(cat "$work/d.pid" "$work/ctld.pid" 2>/dev/null); do kill "$pid" 2>/dev/null; done
    [ ! -e "$work/munged.pid" ] || kill "$(cat "$work/munged.pid")" 2>/dev/null
    sleep 1
    rm -rf "$work"
}
trap end EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

host=$(hostname -s)
cat > "$work/slurm.conf" <<EOF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/ctld.pid
SlurmdPidFile=$work/d.pid
SlurmctldLogFile=$work/ctld.log
SlurmdLogFile=$work/d.log
SlurmctldPort=$((20000 + 2 * ($$ % 10000)))
SlurmdPort=$((20001 + 2 * ($$ % 10000)))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
FirstJobId=$((1000 + $$ % 60000))
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=500 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
EOF
mkdir "$work/state" "$work/spool" "$work/munge"
chown munge "$work/munge"; chmod 755 "$work/munge"
timeout 20 runuser -u munge -- munged --socket="$work/munge/socket" --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed" || skip "munged does not start"
cp "$work/munge/pid" "$work/munged.pid"
export SLURM_CONF=$work/slurm.conf LATHE_CACHE=$work/cache PATH=$(dirname "$lathe"):$PATH
timeout 20 slurmctld -i >/dev/null 2>&1 && timeout 20 slurmd >/dev/null 2>&1 || skip "slurmctld or slurmd does not start: $(cat "$work/ctld.log" "$work/d.log" 2>/dev/null | tail -n 1)"
for _ in $(seq 60); do timeout 5 sinfo -h -o %t 2>/dev/null | grep -q idle && break; sleep 0.5; done
timeout 5 sinfo -h -o %t 2>/dev/null | grep -q idle || skip "the node does not come up: $(tail -n 1 "$work/ctld.log")"

cat > "$work/c.yaml" <<EOF
metadata: {name: slurm}
parameter_space:
  architecture: {num_layers: {type: integer, bounds: [2, 4]}, base_channels: {type: choice, choices: [8, 16]}, kernel_size: {type: choice, choices: [3]},
    activation: {type: choice, choices: [gelu]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}
  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [16, 32]}}
sampling: {total_samples: 300}
simulation: {device: cpu, precision: float32, num_realizations: 2, num_timesteps: 8, input_generation: {method: structured}}
dataset: {output_path: k.h5, storage: {chunk_size: 4, store_trajectories: true, compression: none}}
EOF
"$lathe" generate --quiet --config "$work/c.yaml" --output "$work/one.h5" > /dev/null || fail "one process"
submit() { timeout 20 sbatch --parsable -o "$work/log" "$work/job"; }
ended() { for _ in $(seq 120); do [ -z "$(timeout 5 squeue -h -j "$1" 2>/dev/null)" ] && return; sleep 0.5; done; fail "job $1 does not end"; timeout 5 scancel "$1"; }

"$lathe" cluster sbatch --ranks-per-node 2 --time 10 -- generate --config "$work/c.yaml" --output "$work/k.h5" > "$work/job"
ended "$(submit)"
cmp -s "$work/one.h5" "$work/k.h5" || { fail "the file of the job differs"; cat "$work/log"; tail -n 20 "$work/d.log"; }

# SIGTERM, as Slurm sends it before the limit.
rm -f "$work/k.h5"
job=$(submit)
for _ in $(seq 300); do [ -n "$(find "$work" -name k.h5.journal -size +64k)" ] && break; sleep 0.05; done
timeout 5 scancel --signal=TERM "$job"
for _ in $(seq 120); do grep -q 'resume me' "$work/log" 2>/dev/null && timeout 5 squeue -h -j "$job" -o %T | grep -q PENDING && break; sleep 0.5; done
grep -q 'resume me: [0-9]* of 300 operators are done' "$work/log" || { fail "the job does not say that it is to be resumed"; cat "$work/log"; }
timeout 5 squeue -h -j "$job" -o %T | grep -q PENDING || fail "the job was not queued again"
timeout 5 scancel "$job"
ended "$job"
"$lathe" generate --quiet --config "$work/c.yaml" --output "$work/k.h5" --resume > /dev/null || fail "resumed"
cmp -s "$work/one.h5" "$work/k.h5" || fail "the resumed file differs"

# An array: tasks that know nothing of each other make the shards of the same file.
"$lathe" cluster sbatch --array 3 --mpi none --time 10 -- generate --config "$work/c.yaml" --output "$work/s.h5" > "$work/job"
job=$(timeout 20 sbatch --parsable -o "$work/log-%a" "$work/job")
ended "$job"
eval "$(sed -n 's/^# When all tasks are done: lathe/"$lathe"/p' "$work/job")" > "$work/out" 2>&1 || { fail "the shards of the array do not merge"; cat "$work/out" "$work"/log-*; }
cmp -s "$work/one.h5" "$work/s.h5" || fail "the merged shards of an array differ from the file of one process"

# Tasks without MPI: one sentence, no file.
timeout 30 srun -n 2 --mpi=none "$lathe" generate --config "$work/c.yaml" --output "$work/q.h5" > "$work/out" 2>&1 && fail "--mpi=none: status 0"
[ "$(grep -c 'srun started 2 tasks without MPI' "$work/out")" = 1 ] && [ ! -e "$work/q.h5" ] || { fail "--mpi=none"; cat "$work/out"; }
exit $failed
