#!/bin/sh
# Libraries load from where the system or the installation keeps them, never from the current folder: no program or library of the
# build has an empty, relative or temporary entry in its search path, and a driver planted in the current folder stays closed.
# runpath.sh SOURCE-ROOT BUILD-FOLDER. SPDX-License-Identifier: BSD-3-Clause
set -eu
source=$1 build=$2
command -v readelf >/dev/null 2>&1 || { echo "no readelf: nothing can be said"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# What is wrong with one entry; the build folder itself may lie anywhere.
judge() {
    case $1 in
    '') echo "an empty entry, which is the current folder" ;;
    "$build"/* | '$ORIGIN' | '$ORIGIN'/*) ;;
    /tmp | /tmp/* | /var/tmp | /var/tmp/* | /dev/shm | /dev/shm/*) echo "'$1', where anybody may write" ;;
    /*) ;;
    *) echo "'$1', which is relative" ;;
    esac
}

n=0
for file in $(find "$build/bin" "$build/lib" -type f); do
    path=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*Library r.*path: \[\(.*\)\]$/\1:/p')
    n=$((n + 1))
    while [ -n "$path" ]; do
        wrong=$(judge "${path%%:*}")
        [ -z "$wrong" ] || { echo "$file: its search path has $wrong"; failed=1; }
        path=${path#*:}
    done
done
[ "$n" -gt 1 ] || { echo "$n files were looked at, expected the command and the library"; failed=1; }

# A library whose thread-local data must lie at a fixed offset cannot be loaded once others have used up what a process keeps for that.
for file in "$build"/lib/liblathe.so.* "$build"/python/lathe/_core*.so; do
    [ -f "$file" ] || continue
    readelf -d "$file" | grep -q STATIC_TLS && { echo "$file: its thread-local data needs a fixed place (STATIC_TLS)"; failed=1; }
done

# Three places open libraries at run time: the vendor's of CUDA and OpenBLAS, by bare names, and lathe's own plugins for MPI, which lie
# in the folder of the library or the program itself.
others=$(grep -rlw dlopen "$source/src" "$source/cli" | grep -v -e /device/cuda/library.c -e /kernels/cpu/openblas.c -e /cluster/launch.c || true)
[ -z "$others" ] || { echo "dlopen outside device/cuda/library.c, kernels/cpu/openblas.c and cluster/launch.c: $others"; failed=1; }
paths=$(grep -rhoE '"[^" ]*/[^" ]*\.so[.0-9]*"' "$source/src" | grep -vxF '"%s/%s/mpi-%s.so"' || true)
[ -z "$paths" ] || { echo "libraries that are opened by a path: $paths"; failed=1; }

# The planted driver would say that its fault was made up.
unset LD_LIBRARY_PATH LATHE_CUDA || true
cp "$build"/fake-idle/libcuda.so.1 "$work/libcuda.so.1"
(cd "$work" && "$build/bin/lathe" doctor) >"$work/out" 2>&1 || { echo "doctor failed"; cat "$work/out"; failed=1; }
grep -q "made up" "$work/out" && { echo "libcuda.so.1 of the current folder was opened"; failed=1; }
(cd "$work" && LATHE_CUDA=. "$build/bin/lathe" solve example:A1) >"$work/out" 2>&1 && got=0 || got=$?
[ "$got" -eq 2 ] && grep -q "LATHE_CUDA is '.': expected a path that begins with /" "$work/out" || { echo "LATHE_CUDA=. ended with $got:"; cat "$work/out"; failed=1; }
(cd "$work" && LATHE_CUDA=. "$build/bin/lathe" doctor) >"$work/out" 2>&1 || true
grep -q "made up" "$work/out" && { echo "a relative LATHE_CUDA was followed"; failed=1; }
[ $failed -eq 0 ] && echo "$n files looked at"
exit $failed
