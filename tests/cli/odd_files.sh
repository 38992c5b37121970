#!/bin/sh
# File systems without locks, room kept ahead, shared maps or changes of mode, and calls that do a part: odd_files.sh LATHE MODULE.
# Outputs are what they are elsewhere. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"
odd=$work/odd_files.so # LD_PRELOAD takes no spaces
ln -s "$2" "$odd"
ENOLCK=37 ENOSYS=38 EOPNOTSUPP=95 EINVAL=22 ENODEV=19 EPERM=1

# on ODD STATUS ARGUMENTS…: a command on such a file system.
on() {
    oddity=$1
    expected=$2
    shift 2
    last="lathe $* with $oddity"
    LD_PRELOAD=$odd ODD_FILES=$oddity "$lathe" "$@" >"$work/out" 2>"$work/err" && got=0 || got=$?
    [ "$got" -eq "$expected" ] || { fail "$last: status $got, expected $expected"; head -n 5 "$work/out" "$work/err"; }
}

command -v python3 >/dev/null 2>&1 || { echo "python3 makes the inputs of this test"; exit 77; }
cat >"$work/x.py" <<'PYTHON'
import struct, sys
head = "{'descr': '<f8', 'fortran_order': False, 'shape': (40, 3), }"
head += " " * (63 - (10 + len(head)) % 64) + "\n"
open(sys.argv[1], "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<120d", *[i * 7 % 13 / 5 for i in range(120)]))
PYTHON
python3 "$work/x.py" "$work/x.npy"
gram="gram --x $work/x.npy --map zz(reps=1) --quiet"

# Matrices
# shellcheck disable=SC2086
{
run 0 $gram --out "$work/K.npy"
for oddity in fallocate=$EINVAL fallocate=$ENOSYS fallocate=$EOPNOTSUPP mmap=$ENODEV pieces; do
    for memory in 0 1; do
        rm -f "$work/odd.npy"*
        on $oddity 0 $gram --memory $memory --out "$work/odd.npy"
        cmp "$work/K.npy" "$work/odd.npy" || fail "$last: another matrix"
    done
done
rm -f "$work/odd.npy"*
on flock=$ENOSYS 1 $gram --memory 1 --out "$work/odd.npy"; says err "this file system has no locks; set HDF5_USE_FILE_LOCKING=FALSE"
HDF5_USE_FILE_LOCKING=FALSE; export HDF5_USE_FILE_LOCKING
on flock=$ENOSYS 0 $gram --memory 1 --out "$work/odd.npy"
unset HDF5_USE_FILE_LOCKING
cmp "$work/K.npy" "$work/odd.npy" || fail "$last: another matrix"
}

# Files that are replaced have the mode they need already.
for _ in 1 2; do on fchmod=$EPERM 0 solve example:A2 --quiet --checkpoint "$work/c" --report "$work/r.html"; done

# Datasets
sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/generate.sh" | grep -v '^YAML' >"$work/c.yaml"
make="generate --config $work/c.yaml --total-samples 2 --quiet"
# shellcheck disable=SC2086
if "$lathe" $make --output "$work/a.h5" >"$work/out" 2>"$work/err"; then
    for error in $ENOLCK $ENOSYS $EOPNOTSUPP; do
        on flock=$error 1 $make --output "$work/odd.h5"; says err "this file system has no locks; set HDF5_USE_FILE_LOCKING=FALSE"
        [ ! -e "$work/odd.h5" ] || fail "$last: left a dataset"
        for command in validate info; do on flock=$error 0 $command "$work/a.h5"; done
        HDF5_USE_FILE_LOCKING=FALSE; export HDF5_USE_FILE_LOCKING
        on flock=$error 0 $make --output "$work/odd.h5"
        cmp "$work/a.h5" "$work/odd.h5" || fail "$last: another dataset"
        on flock=$error 0 merge --out "$work/odd.h5" "$work/a.h5"
        unset HDF5_USE_FILE_LOCKING
        rm -f "$work/odd.h5"*
    done
    for oddity in fchmod=$EPERM pieces; do
        on $oddity 0 $make --output "$work/odd.h5"
        on $oddity 0 $make --output "$work/odd.h5"
        cmp "$work/a.h5" "$work/odd.h5" || fail "$last: another dataset"
        on $oddity 0 validate "$work/odd.h5"
        rm -f "$work/odd.h5"
    done
fi
finish
