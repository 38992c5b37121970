#!/bin/sh
# lathe gram as a user meets it: gram.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

if ! command -v python3 >/dev/null 2>&1; then
    echo "python3 makes the inputs of this test"
    exit 77
fi
cat >"$work/make.py" <<'PYTHON'
import struct, sys
def write(path, rows, descr="<f8", pack="d"):
    shape, flat = [], rows
    while isinstance(flat[0], list):
        shape.append(len(flat))
        flat = [v for row in flat for v in row]
    shape = ([len(rows)] + [len(rows[0])] if len(shape) == 1 else [len(rows), len(rows[0]), len(rows[0][0])])
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (descr, tuple(shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(flat), pack), *flat))
folder = sys.argv[1]
x = [[((7 * i + 3 * k) % 11) * 0.3 - 1.5 for k in range(4)] for i in range(30)]
w = [[0.1 * (l + k) for k in range(4)] for l in range(2)]
write(folder + "/x.npy", x)
write(folder + "/y.npy", x[:7])
write(folder + "/w.npy", w)
write(folder + "/w32.npy", w, "<f4", "f")
write(folder + "/w3.npy", [[[v, 2 * v, 3 * v] for v in row] for row in w])
write(folder + "/wide.npy", [[0.0] * 5 for _ in range(3)])
x[2][3] = float("nan")
write(folder + "/nan.npy", x)
write(folder + "/int.npy", [[1, 2, 3, 4]], "<i8", "q")
write(folder + "/w40.npy", [[0.1] * 40 for _ in range(3)])
write(folder + "/x40.npy", [[0.1] * 40 for _ in range(3)])
PYTHON
python3 "$work/make.py" "$work" || fail "the inputs could not be made"
cat >"$work/look.py" <<'PYTHON'
import struct, sys
def read(path):
    b = open(path, "rb").read()
    n = struct.unpack("<H", b[8:10])[0]
    head = eval(b[10:10 + n])
    count = 1
    for d in head["shape"]: count *= d
    return head["shape"], struct.unpack("<%d%s" % (count, "d" if head["descr"] == "<f8" else "f"), b[10 + n:]) if "c" not in head["descr"] else None
shape, K = read(sys.argv[1])
want = tuple(int(v) for v in sys.argv[2].split(","))
if shape != want: sys.exit("shape %r, expected %r" % (shape, want))
if K and len(shape) == 2 and shape[0] == shape[1]:
    n = shape[0]
    for i in range(n):
        if abs(K[i * n + i] - 1) > 1e-6: sys.exit("diagonal %d is %r" % (i, K[i * n + i]))
        for j in range(n):
            if K[i * n + j] != K[j * n + i]: sys.exit("not symmetric")
PYTHON
looks() { python3 "$work/look.py" "$1" "$2" 2>"$work/look" || fail "$last: $1: $(cat "$work/look")"; }

in="--x $work/x.npy --weights $work/w.npy"
# shellcheck disable=SC2086
{
run 0 gram $in --out "$work/K.npy"; says out "product"; says out "cannot influence"; looks "$work/K.npy" 30,30
run 0 gram $in --out "$work/K.npy" --quiet; grep -q "Note" "$work/out" && fail "--quiet says notes"
run 0 gram $in --out "$work/S.npy" --method states --re-embed --states-out "$work/psi.npy" --report "$work/K.html"
looks "$work/S.npy" 30,30; looks "$work/psi.npy" 30,16; says out "overlap3_f64"
grep -q "</html>" "$work/K.html" || fail "the report is not whole"
grep -q "Eigenvalues" "$work/K.html" || fail "the report has no spectrum"
run 0 gram $in --re-embed --method transfer --out "$work/T.npy" --json; is_json "$work/out"; says out '"method": "transfer"'; says out '"mpairs_per_s"'
says out '"peak_bytes"'; says out '"plan"'; silent err
run 0 gram $in --y "$work/y.npy" --out "$work/C.npy" --normalize --dtype float32 --return-dtype float32; looks "$work/C.npy" 30,7
run 0 gram --x "$work/x.npy" --weights "$work/w32.npy" --out "$work/P.npy" --packed; looks "$work/P.npy" 465
run 0 gram --x "$work/x.npy" --weights "$work/w3.npy" --entangler strong --re-embed --out "$work/E.npy"; looks "$work/E.npy" 30,30
run 0 gram $in --method states --no-precompute --state-tile 8 --vram-fraction 0.5 --no-autotune --workers 1 --out "$work/B.npy"; says out "precomputing is off"
for backend in cpu numpy lightning.qubit; do
    run 0 gram $in --gram-backend $backend --out "$work/N.npy" --json; says out '"backend": "c'
    cmp -s "$work/K.npy" "$work/N.npy" || fail "$last: another K"
done
run 2 gram $in --gram-backend cupy --out "$work/bad.npy"; says err "cuda_states"
run 2 gram $in --gram-backend cpu --devices null,null --out "$work/bad.npy"; says err "one of them"
mkdir "$work/kept"
run 0 gram $in --kernel-cache "$work/kept" --out "$work/first.npy" --json; says out '"from_cache": false'
run 0 gram $in --kernel-cache "$work/kept" --out "$work/second.npy" --json --method states --tile-size 5; says out '"from_cache": true'
cmp -s "$work/first.npy" "$work/second.npy" || fail "K from the cache is not K"
run 0 gram $in --kernel-cache "$work/kept" --out "$work/second.npy" --re-embed --json; says out '"from_cache": false'
[ "$(ls "$work/kept" | wc -l)" -eq 2 ] || fail "the cache does not hold two matrices"
for kept in "$work"/kept/kernel_*.npy; do echo broken >"$kept"; done
run 0 gram $in --kernel-cache "$work/kept" --out "$work/second.npy" --json; says out '"from_cache": false'
run 0 gram $in --kernel-cache "$work/kept" --out "$work/second.npy"; says out "from $work/kept/kernel_"
run 0 gram $in --kernel-cache "$work/kept" --report "$work/kept.html" --json; says out '"n": 30'; says out '"backend": "kernel cache"'
grep -q "taken from the kernel cache" "$work/kept.html" || fail "the report does not say where K comes from"
run 2 gram $in --kernel-cache "$work/no/such" --out "$work/bad.npy"; says err "no such folder"
run 0 gram $in --states-out "$work/psi.npy"; looks "$work/psi.npy" 30,16; says out "states of 30 rows, 16 amplitudes each"

rm -f "$work/bad.npy"
run 2 gram --x "$work/nan.npy" --weights "$work/w.npy" --out "$work/bad.npy"; says err "row 2, column 3"
run 2 gram --x "$work/int.npy" --weights "$work/w.npy" --out "$work/bad.npy"; says err "i64"
run 2 gram --x "$work/wide.npy" --weights "$work/w.npy" --out "$work/bad.npy"; says err "5 columns"
run 2 gram $in --y "$work/wide.npy" --out "$work/bad.npy"; says err "Y has 5 columns"
run 2 gram --x "$work/x.npy" --weights "$work/w3.npy" --out "$work/bad.npy"; says err "[layers, qubits]"
run 2 gram --x "$work/missing.npy" --weights "$work/w.npy" --out "$work/bad.npy"; says err "missing.npy"
run 2 gram --x "$work/make.py" --weights "$work/w.npy" --out "$work/bad.npy"; says err "expected a .npy file"
run 2 gram --x "$work/x40.npy" --weights "$work/w40.npy" --re-embed --out "$work/bad.npy"; says err "stop at 30 qubits"
run 2 gram $in --out "$work/no/such/K.npy"; says err "K.npy"
run 2 gram $in --method product --re-embed --out "$work/bad.npy"; says err "method product needs"
run 2 gram $in --out "$work/K.csv"; says err "--out $work/K.csv: expected a name that ends in .npy"
run 2 gram $in --states-out "$work/S.txt"; says err "expected a name that ends in .npy"
run 2 gram $in --vram-fraction 0 --out "$work/bad.npy"; says err "vram-fraction"
run 2 gram $in --state-tile 0 --out "$work/bad.npy"; says err "state_tile is 0"
run 0 gram $in --device cpu --out "$work/K.npy"; says out " on cpu, float64"; silent err
run 0 gram $in --device null --out "$work/two.npy"; says out " on null, float64"; says err "results mean nothing"
run 2 gram $in --device cpu --dtype float16 --out "$work/bad.npy"; says err "use float32 here"; says err "a GPU (cuda)"
run 2 gram $in --gram-backend numpy --dtype float16 --out "$work/bad.npy"; says err "use float32 here"
run 2 gram $in --return-dtype float16 --out "$work/bad.npy"; says err "float64, float32"
run 0 gram $in --device null --dtype float16 --method states --re-embed --out "$work/two.npy" --states-out "$work/psi.npy" --json; is_json "$work/out"
says out '"precision": "float16"'; says out '"error_bound": 0.002'; says out "errors of K below 0.002"; says out '"kernel": "overlap_f16_tensor'
python3 -c 'import struct, sys; sys.exit(b"<c8" not in open(sys.argv[1], "rb").read(128))' "$work/psi.npy" || fail "states of float16 are not of single precision"
run 0 gram $in --device null --dtype float16 --out "$work/two.npy" --json; says out '"method": "product"'; says out '"precision": "float64"'; says out '"error_bound": 1e-12'
run 0 gram $in --devices null,null --out "$work/two.npy" --json; is_json "$work/out"; says out '"devices": 2'
run 2 gram $in --devices null,null --device cpu --out "$work/bad.npy"; says err "--devices and --device both say"
run 2 gram $in --gram-backend numpy --device null --out "$work/bad.npy"; says err "--gram-backend and --device both say"
run 2 gram $in --gram-backend numpy --devices null,null --out "$work/bad.npy"; says err "--gram-backend and --devices both say"
run 2 gram $in --devices null,, --out "$work/bad.npy"; says err "cuda:0,cuda:1"
run 2 gram $in --devices null,cpu --out "$work/bad.npy"; says err "memory of their own"
run 2 gram $in; says err "nothing to write"
run 2 gram $in --out "$work/bad.npy" --memory 1e300; says err "option 'memory' is '1e300'"
run 2 gram $in --out "$work/bad.npy" --memory 1e-300; says err "the memory is"
run 2 gram $in --out "$work/bad.npy" --landmarks 99999999999; says err "rows to draw them from"
cp "$work/x.npy" "$work/kept.npy"
run 2 gram $in --out "$work/x.npy"; says err "is also what --x reads"
ln -s x.npy "$work/link.npy"
run 2 gram $in --states-out "$work/link.npy"; says err "is also what --x reads"
run 2 gram $in --out "$work/bad.npy" --states-out "$work/bad.npy"; says err "--out and --states-out are the same file"
run 2 gram $in --out "$work/bad.npy" --report "$work/x.npy"; says err "is also what --x reads"
cmp -s "$work/x.npy" "$work/kept.npy" || fail "the rows were written over"
run 2 gram --weights "$work/w.npy"; says err "--x"
run 2 gram --x "$work/x.npy"; says err "--weights"
}
for sweep in methods sizes qubits tiles ablation check; do
    bench 0 gram --sweep $sweep --quick --csv "$work/$sweep.csv" --report "$work/$sweep.html"
    head -n 1 "$work/$sweep.csv" | grep -q "^device,n_samples,.*,max_vram_gb$" || fail "$last: its CSV has no header"
    grep -q "</html>" "$work/$sweep.html" || fail "$last: its report is not whole"
done
echo '{"peer": "test", "rows": [{"name": "c128 q6", "seconds": 0.125}]}' >"$work/peer.json"
bench 0 gram --quick --sweep targets --peer "$work/peer.json" --json; is_json "$work/out"; says out '"target": "T9"'; says out '"peer_seconds": 0.125'
bench 0 gram --quick --sweep targets --only T4 --only 'states float32 q=6' --json; says out '"product q=16"'; says out '"states float32 q=6"'
grep -q '"T9"' "$work/out" && fail "--only runs other rows too"
bench 0 gram --quick --sweep targets --device cpu --json; grep -q '"states float16' "$work/out" && fail "targets on the CPU try float16"
bench 2 gram --quick --sweep targets --device cpu --only 'states float16'; says err "states float16 q=6: "; says err "use float32 here"
bench 2 gram --quick --sweep targets --only T99; says err "no row has this name"
bench 2 gram --quick --sweep targets --only T8; says err "--large"
bench 2 gram --quick --sweep sizes --only T8; says err "--sweep targets"
bench 0 gram --quick --sweep limits --device cpu --json; is_json "$work/out"; says out '"share_of_peak"'; says out '"share_of_writing"'
bench 0 gram --quick --sweep limits --device cpu; says out "whole call, K on large pages"; says out "memory written at"
bench 0 gram --quick --sweep compare --json; is_json "$work/out"; says out '"diagonal_mean_abs"'; says out '"B with A"'; says out '"centred"'
bench 0 gram --quick --sweep check --json; is_json "$work/out"; says out '"median"'; says out '"nan": 0'; says out '"p95_s"'
bench 2 gram --quick --sweep compare --report "$work/bad.html"; says err "--json"
bench 2 gram --quick --sweep targets --csv "$work/bad.csv"; says err "--json"
bench 2 gram --quick --sweep sizes --large; says err "--sweep targets"
bench 0 gram --quick --sweep sizes --json; is_json "$work/out"; says out '"seconds_per_row_squared"'; says out '"commit"'
bench 2 gram --quick --csv "$work/no/such/file.csv"; says err "file.csv"

[ ! -e "$work/bad.npy" ] || fail "a failed run left a file"
for left in "$work"/*bad.npy*; do [ ! -e "$left" ] || fail "a failed run left $left"; done
finish
