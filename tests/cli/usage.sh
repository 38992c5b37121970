#!/bin/sh
# Help, errors, exit status and the short subcommands: usage.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

# Help
run 2; says err "usage: lathe"; silent out
run 0 --help; says out "Optimization:"; says out "Quantum kernels:"; silent err
run 0 help; says out "Optimization:"
run 0 --version; says out "lathe "
"$lathe" --help | sed '1,/^Optimization:/d; /^  lathe help/,$d' | sed -n 's/^  \([a-z-]*\( [a-z-]*\)\{0,1\}\)  *[A-Z].*/\1/p' >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 25 ] || fail "only $(wc -l <"$work/commands") subcommands found in the help"
while read -r command; do
    run 0 $command --help; says out "usage: lathe $command"; says out "Example:"; says out "--json"; silent err
    run 0 help $command; says out "usage: lathe $command"
done <"$work/commands"
bench 0 --help; says out "usage: lathe-bench"; says out "Subcommands:"; says out "roofline"
bench 0 --version; says out "lathe-bench "
for command in roofline transfers graph fused generate gram qsvm solve; do bench 0 $command --help; says out "usage: lathe-bench $command"; done

# Misspellings and bad values: what, and what was meant
run 2 devcies; says err "no subcommand 'devcies'; did you mean 'devices'?"
run 2 zzzzzz; says err "no subcommand 'zzzzzz'"
bench 2 grpah; says err "lathe-bench: no subcommand 'grpah'; did you mean 'graph'?"
bench 2 --generate man; says err "the subcommand comes first"
# Subcommands of earlier versions: what to use instead
run 2 bench graph; says err "'bench' is gone: use the program lathe-bench"
run 2 inspect small.h5; says err "'inspect' is gone: use 'lathe info'"
run 2 cloud-generate --config c.yaml; says err "use 'lathe generate'"
run 2 help nothing; says err "no subcommand 'nothing'"
run 2 --json devices; says err "the subcommand comes first"
run 2 devices --jsn; says err "unknown option 'jsn': did you mean 'json'?"
run 2 devices surplus; says err "surplus"
run 2 devices --seed -1; says err "-1"
run 2 devices --seed many; says err "many"
run 2 devices --device; says err "device"
bench 2 transfers --order 0; says err "order"; says err "0"
run 2 tune --mode fast; says err "fast"; says err "measure"
run 2 tune --list --clear; says err "exclude each other"
bench 2 graph --only nosuch; says err "no such row"
bench 2 graph --only chian; says err "did you mean 'chain'?"
run 2 explain matmull; says err "did you mean 'matmul'?"
run 2 --generate poem; says err "expected man, bash, zsh or fish"

# A device that is not there is an error that says why, never a substitute
if "$lathe" devices | grep -q "^cuda:0"; then
    run 2 devices --device cuda:77; says err "ordinal 77 is out of range"; says err "cuda:0"
else
    for command in devices doctor "solve example:A1" "gram --x X.npy --weights W.npy" "qsvm --synthetic easy" demo tune generate replay extract-features; do
        for device in cuda cuda:77; do
            run 1 $command --device $device; says err "device '$device' cannot run: "; says err "devices here: cpu, null"; silent out
        done
    done
    for command in roofline transfers graph fused generate gram qsvm solve; do
        bench 1 $command --device cuda; says err "device 'cuda' cannot run: "; says err "devices here: cpu, null"; silent out
    done
fi
for device in cuda:x cuda: cuda:-1 null:1 cpu:1; do run 2 devices --device $device; says err "device '$device'"; done
"$lathe" demo --device nosuch >/dev/null 2>"$work/err" && fail "demo --device nosuch succeeded"
grep -q nosuch "$work/err" || fail "demo --device nosuch does not name it"

# Each short subcommand, as text and as JSON
run 0 devices; says out "cpu: "; silent err
run 0 devices --json; is_json "$work/out"; says out '"id": "cpu"'; silent err
run 0 devices --device null; says out "null: "
run 0 doctor; says out "ok "; says out "openblas"
run 0 doctor --json; is_json "$work/out"; says out '"findings"'; silent err
run 0 explain; says out "matmul"
run 0 explain matmul; says out "lt_matmul(lt_graph *g, lt_node a, lt_node b)"
run 0 explain LT_ERR_SHAPE 4 LATHE_THREADS --device cpu; says out "LT_ERR_SHAPE"; says out "memory (status)"; says out "environment variable"
run 0 explain matmul --json; is_json "$work/out"; silent err
run 0 explain --json; is_json "$work/out"
run 2 explain nosuchthing --json; is_json "$work/out"; says out '"error": "argument"'; says err "nosuchthing"

# Doctor notices a cache folder that cannot be used
mkdir "$work/open" && chmod 777 "$work/open"
LATHE_CACHE=$work/open run 0 doctor; says out "chmod 700"
touch "$work/file"
LATHE_CACHE=$work/file run 1 doctor; says out "not a folder"
LATHE_THREADS=1 run 0 doctor; says out "1 by LATHE_THREADS"
run 0 doctor; grep -q "(src/" "$work/out" && fail "doctor names places in the source"

# Variables set to what they cannot be are no defaults
LATHE_ISA=sse9 run 1 doctor; says out "bad      LATHE_ISA        set to sse9"; says out "expected plain|avx2|avx512"
grep -q "limited by LATHE_ISA" "$work/out" && fail "doctor takes sse9 for an instruction set"
LATHE_ISA=sse9 run 1 doctor --json; is_json "$work/out"; says out '"findings"'; says out '"verdict": "bad"'
LATHE_ISA=sse9 run 0 explain LATHE_ISA
for command in devices "solve example:A1"; do
    LATHE_ISA=sse9 run 2 $command; says err "LATHE_ISA is 'sse9': expected one of plain|avx2|avx512"; silent out
    LATHE_THREADS=0 run 2 $command; says err "LATHE_THREADS is '0': expected an integer in 1..1024"; silent out
    LATHE_BF16=yes run 2 $command; says err "LATHE_BF16 is 'yes'"; silent out
done

# Output that cannot be written is a failure
"$lathe" devices >/dev/full 2>"$work/err" && fail "devices >/dev/full succeeded"
grep -q "standard output" "$work/err" || fail "devices >/dev/full does not say why"
# … and said before any work is done
run 2 demo --report "$work/no/such/folder.html"; says err "no/such"; silent out
bench 2 graph --report "$work"; says err "it is a folder"; silent out
run 2 devices --profile "$work/no/such/trace.json"; says err "no/such"; silent out

finish
