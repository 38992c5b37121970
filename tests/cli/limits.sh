#!/bin/sh
# Commands with little address space: limits.sh LATHE. Each ends in time, with status 0, or with status 1 and a sentence that names memory.
# Below what the loader needs for the shared libraries nothing of lathe runs, and the loader says so. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

(ulimit -v 4000000) 2>/dev/null || { echo "no limit of address space can be set here"; exit 77; }
(ulimit -v 4000000; "$lathe" --version >"$work/out" 2>"$work/err") || { echo "lathe does not start in 4 GB: sanitizers take more"; exit 77; }
command -v timeout >/dev/null 2>&1 || { echo "no timeout(1)"; exit 77; }

# Newer oneDNN ends the process before main() where its own tables do not fit.
starts() { (ulimit -c 0; ulimit -v "$limit"; exec "$lathe" --version) >/dev/null 2>&1; }

# within KIB ARGUMENTS…
n_failed=0
within() {
    limit=$1
    shift
    (ulimit -c 0; ulimit -v "$limit"; exec timeout -s KILL 60 "$lathe" "$@") >"$work/out" 2>"$work/err" && got=0 || got=$?
    case $got in
    0) ;;
    1) n_failed=$((n_failed + 1)); grep -q memory "$work/err" || { fail "lathe $* in $limit KiB: says nothing of memory"; head -n 3 "$work/err"; } ;;
    127) grep -q "loading shared libraries" "$work/err" || fail "lathe $* in $limit KiB: status 127" ;;
    134) starts || return 0; fail "lathe $* in $limit KiB: status 134"; head -n 3 "$work/err" ;;
    *) fail "lathe $* in $limit KiB: status $got"; head -n 3 "$work/err" ;;
    esac
}

sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/generate.sh" | grep -v '^YAML' >"$work/c.yaml"
has_datasets=yes
"$lathe" generate --config "$work/c.yaml" --output "$work/a.h5" --total-samples 2 --quiet >"$work/out" 2>"$work/err" || has_datasets=no
# 150000 and 200000 are where OpenBLAS's own thread once looked for memory for ever.
for limit in 84000 100000 150000 200000 400000; do
    within $limit solve example:A2 --quiet --set max_iterations=2
    within $limit qsvm --synthetic easy --qubits 4 --c 1 --train-subset 60 --quiet
    [ $has_datasets = yes ] || continue
    within $limit generate --config "$work/c.yaml" --output "$work/g.h5" --overwrite --total-samples 2 --quiet
    within $limit validate "$work/a.h5"
    within $limit info "$work/a.h5"
    within $limit card "$work/a.h5"
    within $limit split "$work/a.h5" --stratify
    rm -rf "$work/a.zarr"
    within $limit export "$work/a.h5" --npz "$work/a.npz" --zarr "$work/a.zarr"
    within $limit replay "$work/a.h5" --index 1
    within $limit extract-features "$work/a.h5" --output "$work/e.h5" --enable-spatial --overwrite --quiet
done
# Where FFTW aborted, oneDNN wrote through a null pointer and HDF5 broke the heap.
if [ $has_datasets = yes ]; then
    for limit in $(seq 86000 4000 150000) 191500 254000 320000 385000; do
        within $limit generate --config "$work/c.yaml" --output "$work/g.h5" --overwrite --total-samples 2 --quiet
    done
fi

# Where CUDA's libraries are installed: each ended the process at some limit of data while it started.
for limit in 120000 130000 140000 250000 260000 270000 380000 390000 400000; do
    (ulimit -c 0; ulimit -d $limit; exec timeout -s KILL 60 "$lathe" doctor) >"$work/out" 2>"$work/err" && got=0 || got=$?
    [ $got -le 1 ] || fail "lathe doctor with $limit KiB of data: status $got"
done

# A soft limit of the stack is raised; a hard one that is too low is said. Kernels of this problem keep half a megabyte there.
printf 'data A = normal(60, 60, seed=1)\nvar x[60] = [sin(i + 1) for i in 0:60]\nminimize sum(abs(A @ x - 1)) + 0.1*norm(x)\n' >"$work/p.lt"
(ulimit -c 0; ulimit -S -s 200; exec "$lathe" solve "$work/p.lt" --quiet --set max_iterations=2) >"$work/out" 2>"$work/err" && got=0 || got=$?
last="solve with a soft limit of the stack"
[ $got -eq 0 ] || { fail "$last: status $got"; head -n 3 "$work/err"; }
for limit in 64 256 900; do
    for request in "solve example:A2 --quiet" "gram --x none.npy" devices; do
        # shellcheck disable=SC2086
        (ulimit -c 0; ulimit -s $limit; exec "$lathe" $request) >"$work/out" 2>"$work/err" && got=0 || got=$?
        last="$request with $limit KiB of stack"
        [ $got -eq 1 ] || { fail "$last: status $got, expected 1"; head -n 3 "$work/err"; }
        says err "the stack may have $limit KiB only"
    done
done
[ $n_failed -gt 0 ] || fail "no limit was too low: these do not test anything"
finish
