#!/bin/bash
# The batch script: what it asks for, and that it queues itself again while work is left. srun and scontrol are played by scripts here. sbatch.sh LATHE.
# SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

"$lathe" cluster sbatch --nodes 4 --gpus-per-node 8 --time 1:00:00 --partition gpu -- generate --config "it's.yaml" --output "$work/a b.h5" > "$work/job" || fail "status $?"
bash -n "$work/job" || fail "not a script"
for line in '--nodes=4' '--ntasks-per-node=8' '--gpus-per-node=8' '--time=1:00:00' '--signal=TERM@60' '--requeue' '--partition=gpu'; do
    grep -qx -- "#SBATCH $line" "$work/job" || fail "no line $line"
done

mkdir "$work/bin"
printf '#!/bin/bash\nprintf "%%s\\n" "$@" > "%s/arguments"\nexit $(cat "%s/status")\n' "$work" "$work" > "$work/bin/srun"
printf '#!/bin/bash\necho "$@" >> "%s/requeued"\n' "$work" > "$work/bin/scontrol"
chmod +x "$work/bin/srun" "$work/bin/scontrol"
play() { echo "$1" > "$work/status"; rm -f "$work/requeued"; PATH=$work/bin:$PATH SLURM_JOB_ID=77 bash "$work/job"; }
touch "$work/a b.h5.journal"
play 0 || fail "work is left: status $?"
grep -qx 'requeue 77' "$work/requeued" 2>/dev/null || fail "work is left, and the job was not queued again"
for word in "it's.yaml" "$work/a b.h5" --resume --requeue --mpi=pmix; do grep -qx -- "$word" "$work/arguments" || fail "srun did not get $word"; done
play 1 && fail "a failure: status 0"
[ ! -e "$work/requeued" ] || fail "a failed job was queued again"
rm "$work/a b.h5.journal"
play 0 || fail "done: status $?"
[ ! -e "$work/requeued" ] || fail "a finished job was queued again"

# An output that is a link: the journal lies beside the file it leads to.
mkdir "$work/elsewhere" && touch "$work/elsewhere/g.h5" "$work/elsewhere/g.h5.journal" && ln -s elsewhere/g.h5 "$work/link.h5"
"$lathe" cluster sbatch -- generate --config c.yaml --output "$work/link.h5" > "$work/job" || fail "link: status $?"
play 0 && grep -qx 'requeue 77' "$work/requeued" 2>/dev/null || fail "work is left behind a link, and the job was not queued again"

# A matrix: its table of tiles says whether work is left.
"$lathe" cluster sbatch -- gram --x X.npy --weights W.npy --out="$work/K.npy" > "$work/job" || fail "gram: status $?"
touch "$work/K.npy.part.tiles"
play 0 && grep -qx 'requeue 77' "$work/requeued" && grep -qx -- --resume "$work/arguments" || fail "tiles are left, and the job was not queued again"
rm "$work/K.npy.part.tiles"
play 0 && [ ! -e "$work/requeued" ] || fail "a finished matrix was queued again"

# An array: each task makes a shard of its own.
"$lathe" cluster sbatch --array 3 -- generate --config c.yaml --output "$work/d.1/a b.h5" > "$work/job" && bash -n "$work/job" || fail "--array: status $?"
grep -qx -- '#SBATCH --array=0-2' "$work/job" || fail "no line --array"
mkdir "$work/d.1"
touch "$work/d.1/a b-2.h5.journal"
SLURM_ARRAY_TASK_ID=2; export SLURM_ARRAY_TASK_ID
play 0 && grep -qx 'requeue 77' "$work/requeued" || fail "a shard is left, and the task was not queued again"
for word in "$work/d.1/a b-2.h5" --shard 2/3; do grep -qx -- "$word" "$work/arguments" || fail "srun did not get $word"; done
SLURM_ARRAY_TASK_ID=1
play 0 && [ ! -e "$work/requeued" ] || fail "a task looks at another's shard"
grep -qF -- "lathe merge --out '$work/d.1/a b.h5' '$work/d.1/a b'-{0..2}'.h5'" "$work/job" || fail "no line to merge"
"$lathe" cluster sbatch --array 2 -- generate --config c.yaml --output=k > "$work/job" && grep -q "'generate' '--config' 'c.yaml' --output='k'-" "$work/job" || fail "--output=k"
unset SLURM_ARRAY_TASK_ID

refused() { "$lathe" cluster sbatch "${@:2}" > "$work/out" 2>&1; [ $? = 2 ] && grep -q -- "$1" "$work/out" || { fail "$1"; cat "$work/out"; }; }
refused "give --output FILE" -- generate --config c.yaml
refused "give --out FILE" -- gram --x X.npy
refused "cannot be ended and resumed on ranks" -- solve p.lt --starts 9
refused "a matrix is one file" --array 2 -- gram --x X.npy --out K.npy
refused "the tasks of the array are the shards" --array 2 -- generate --output k.h5 --shard 0/2
refused "expected letters" --name 'a b' -- generate --output k.h5
exit $failed
