#!/bin/sh
# lathe gram --map and --circuit, lathe train-kernel, as a user meets them: circuits.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null 2>&1 || { echo "python3 makes the inputs of this test"; exit 77; }
cat >"$work/make.py" <<'PYTHON'
import struct, sys
def write(path, shape, values):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': %r, }" % (shape,)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dd" % len(values), *values))
folder = sys.argv[1]
x = [((7 * i + 3 * k) % 11) * 0.3 - 1.5 for i in range(30) for k in range(4)]
write(folder + "/x.npy", (30, 4), x)
write(folder + "/y.npy", (30,), [float(x[4 * i] * x[4 * i + 1] > 0) for i in range(30)])
write(folder + "/three.npy", (30,), [float(i % 3) for i in range(30)])
write(folder + "/one.npy", (30,), [1.0] * 30)
write(folder + "/w.npy", (2, 4, 3), [0.1 * i for i in range(24)])
write(folder + "/big.npy", (1, 4), [2.0, 0.1, 0.1, 0.1])
PYTHON
python3 "$work/make.py" "$work" || fail "the inputs could not be made"
x="--x $work/x.npy"

# shellcheck disable=SC2086
{
run 0 gram $x --map 'zz(reps=2, entanglement=linear)' --out "$work/k.npy" --report "$work/k.html"
says out "30 x 30, 4 qubits: states"
says out "circuit: 34 gates"
grep -q "zz(reps=2, entanglement=linear)" "$work/k.html" || fail "the page does not name the map"
run 0 gram $x --map 'z(reps=2)' --json
is_json "$work/out"
says out '"method": "product"'
run 0 gram $x --map 'strong(reupload=true)' --weights "$work/w.npy" --out "$work/a.npy" --circuit-out "$work/c.qasm" --states-out "$work/s.npy"
run 0 gram $x --circuit "$work/c.qasm" --weights "$work/w.npy" --out "$work/b.npy"
cmp -s "$work/a.npy" "$work/b.npy" || fail "a circuit that was written and read has another matrix"
run 0 gram $x --map zz --circuit-out "$work/only.qasm"
says out "circuit of 52 gates"
run 0 gram $x --map zz --plan
says out "1 product, 1 of Hadamards, 2 of phases"
run 0 gram $x --map zz --shots 100 --seed 1 --out "$work/d1.npy"
run 0 gram $x --map zz --shots 100 --seed 1 --workers 1 --out "$work/d2.npy"
cmp -s "$work/d1.npy" "$work/d2.npy" || fail "draws depend on threads"
run 0 gram $x --map zz --shots 100 --seed 2 --out "$work/d2.npy"
cmp -s "$work/d1.npy" "$work/d2.npy" && fail "draws do not depend on the seed"
run 0 gram $x --map zz --similarity projected --gamma 0.5 --out "$work/p.npy"
run 0 gram $x --map zz --similarity real --y "$work/x.npy" --out "$work/r.npy"
run 0 gram $x --map zz --depolarizing 0.1 --normalize --out "$work/n.npy"
mkdir "$work/kept"
run 0 gram $x --map zz --kernel-cache "$work/kept" --out "$work/k1.npy"
run 0 gram $x --map zz --kernel-cache "$work/kept" --out "$work/k2.npy"
says out "from $work/kept/kernel_"
cmp -s "$work/k1.npy" "$work/k2.npy" || fail "the kernel cache changed the matrix"

# Mistakes: status 2, a sentence, no file.
bad() { # bad TEXT ARGUMENTS…
    text=$1
    shift
    rm -f "$work/bad.npy"
    run 2 gram $x --out "$work/bad.npy" "$@"
    says err "$text"
    [ ! -e "$work/bad.npy" ] || fail "$last left a file"
}
bad "line 1, column 4: zz has no argument 'rep'" --map 'zz(rep=2)'
bad "holds 3 features, and X has 4 columns" --map 'zz(wires=3)'
bad "give --weights W.npy of shape [1, 4, 3]" --map strong
bad "has shape [2, 4, 3], expected [2, 4]" --map 'basic(layers=2)' --weights "$work/w.npy"
bad "has no weights" --map zz --weights "$work/w.npy"
bad "both name a circuit" --map zz --circuit "$work/c.qasm"
bad "says these things itself" --map zz --re-embed
bad "are for circuits" --weights "$work/w.npy" --entangler strong --shots 5
bad "belongs to projected" --map zz --gamma 2
bad "cannot open" --circuit "$work/none.qasm"
printf 'OPENQASM 3;\ninclude "stdgates.inc";\nqubit[2] q;\nbit c;\nc = measure q[0];\n' >"$work/m.qasm"
bad "line 5, column 1: 'c' is assigned to" --circuit "$work/m.qasm"
printf 'include "stdgates.inc"; input array[float[64], 4] x; qubit q; rx(arcsin(x[0])) q;' >"$work/d.qasm"
bad "line 1, column 66: arcsin(x[0]) is not a number for row" --circuit "$work/d.qasm"
printf 'include "stdgates.inc"; input array[float[64], 4] x; qubit q; rx(x[0]/(1 - 1)) q;' >"$work/z.qasm"
bad "x[0]/(1 - 1)" --circuit "$work/z.qasm"
printf 'include "stdgates.inc"; input float[64] x0; qubit q; rx(x0) q;' >"$work/f.qasm"
bad "X has 4 columns, and the circuit has 1 features" --circuit "$work/f.qasm"
# What a circuit from a file may not hold, by line and column; what an angle may not be, by row too
while IFS='|' read -r said text; do
    printf 'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[2] q;\ninput array[float[64], 4] x;\n%s\n' "$text" >"$work/bad.qasm"
    bad "$said" --circuit "$work/bad.qasm"
done <<'QASM'
line 5, column 1: reset: reset is not a unitary gate|reset q[1];
line 5, column 8: if: classical control|bit c; if (c) { x q[0]; }
line 5, column 1: while: classical control|while (true) { x q[0]; }
line 5, column 11: unknown gate 'frob'|h q[0];   frob q[0];
line 5, column 5: wire 2 of q, which has 2|x q[2];
line 5, column 1: CX names wire 1 twice|cx q[1], q[1];
line 5, column 1: 'cx' on 1 qubits, expected 2|cx q[0];
unknown gate 'a': a gate may use those defined before it|gate a r { a r; } a q[0];
line 5, column 28: more than 1000000 gates|for int i in [0:1000000] { x q[0]; }
line 5, column 5: 1/0 is infinite|rx(1/0) q[0];
line 5, column 8: x[0]/(pi - pi) is infinite for row 0|rx(x[0]/(pi-pi)) q[0];
line 5, column 4: ln(x[0] - x[0]) is infinite for row 0|rx(ln(x[0]-x[0])) q[0];
line 5, column 4: sqrt(-1 - x[0]**2) is not a number for row 0|rx(sqrt(-1-x[0]**2)) q[0];
line 5, column 6: index 4 of x, which has 4 elements|rx(x[4]) q[0];
QASM
printf 'include "stdgates.inc"; input array[float[64], 4] x; input float[64] w0; qubit q; rx(x[0]/w0) q;' >"$work/d.qasm"
bad "has shape [2, 4, 3], expected [1]" --circuit "$work/d.qasm" --weights "$work/w.npy"

# Training.
t="train-kernel $x --labels $work/y.npy"
run 0 $t --map 'strong(layers=2, reupload=true)' --out "$work/tw.npy" --report "$work/t.html" --test-fraction 0.3 --iterations 20
says out "validation rows"
run 0 gram $x --map 'strong(layers=2, reupload=true)' --weights "$work/tw.npy" --out "$work/tk.npy"
run 0 $t --map 'strong(layers=2, reupload=true)' --out "$work/tw2.npy" --test-fraction 0.3 --iterations 20 --quiet
cmp -s "$work/tw.npy" "$work/tw2.npy" || fail "the same training gave other weights"
run 0 $t --map 'basic(layers=2, reupload=true)' --loss svm-margin --cost 2 --iterations 5 --json
is_json "$work/out"
run 0 $t --map 'basic(layers=2, reupload=true)' --loss centred-alignment --lower -0.5 --upper 0.5 --batch 20 --rounds 2 --iterations 5 --out "$work/tb.npy"
run 0 train-kernel $x --labels "$work/three.npy" --map 'demo(layers=2)' --iterations 3 --out "$work/t3.npy"
run 2 train-kernel $x --labels "$work/three.npy" --map 'demo(layers=2)' --loss svm-margin --out "$work/t4.npy"
says err "svm-margin is of two classes"
run 0 $t --map 'strong(layers=1)' --iterations 3 --quiet --out "$work/t5.npy" # weights that no overlap depends on: K is a product over wires
run 2 train-kernel $x --labels "$work/one.npy" --map 'demo(layers=2)' --out "$work/t4.npy"
says err "all rows are of one class"
run 2 $t --map zz --out "$work/t4.npy"
says err "no weights to train"
run 2 $t --map demo
says err "nothing to write"
run 2 train-kernel $x --map demo --out "$work/t4.npy"
says err "which classes?"
[ ! -e "$work/t4.npy" ] || fail "a training that failed left a file"
}
finish
