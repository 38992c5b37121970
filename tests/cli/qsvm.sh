#!/bin/sh
# lathe qsvm as a user meets it: qsvm.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

if ! command -v python3 >/dev/null 2>&1; then
    echo "python3 makes the inputs of this test"
    exit 77
fi
cat >"$work/make.py" <<'PYTHON'
import random, struct, sys
def write(path, shape, flat, descr="<f8", pack="d"):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (descr, tuple(shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(flat), pack), *flat))
folder = sys.argv[1] + "/"
random.seed(1)
y = [3 if i % 3 == 0 else 8 for i in range(90)]
x = [[random.gauss(1.5 if y[i] == 8 else 0, 1) * (k + 1) for k in range(6)] for i in range(90)]
flat = [v for row in x for v in row]
write(folder + "x.npy", (90, 6), flat)
write(folder + "x32.npy", (90, 2, 3), flat, "<f4", "f")
write(folder + "y.npy", (90,), y, "<i8", "q")
write(folder + "large.npy", (90,), [2**53 + (v == 8) for v in y], "<i8", "q")
with open(folder + "large.csv", "w") as f: f.write("label\n" + "\n".join(str(2**53 + (v == 8)) for v in y) + "\n")
write(folder + "short.npy", (80,), y[:80], "<i8", "q")
write(folder + "one.npy", (90,), [3] * 90, "<i8", "q")
write(folder + "many.npy", (90,), [i % 5 for i in range(90)], "<i8", "q")
write(folder + "few.npy", (90,), [1] + [0] * 89, "<i8", "q")
write(folder + "wide.npy", (9, 7), flat[:63])
write(folder + "w.npy", (2, 4), [0.1 * k for k in range(8)])
write(folder + "empty.npy", (0, 6), [])
write(folder + "flat.npy", (540,), flat)
nan = list(flat); nan[6 * 4 + 2] = float("nan")
write(folder + "nan.npy", (90, 6), nan)
name = {3: "cat", 8: "dog"}
with open(folder + "data.csv", "w") as f:
    f.write("a,b,c,d,e,f,animal\n")
    for row, label in zip(x, y): f.write(",".join(map(repr, row)) + "," + name[label] + "\n")
with open(folder + "y.csv", "w") as f: f.write("label\n" + "\n".join(map(str, y)) + "\n")
lines = open(folder + "data.csv").read().split("\n")
lines[5] = lines[5].replace(",", ",oops", 1)
open(folder + "typo.csv", "w").write("\n".join(lines))
lines = open(folder + "data.csv").read().split("\n")
lines[7] = lines[7] + ",1"
open(folder + "ragged.csv", "w").write("\n".join(lines))
with open(folder + "turned.csv", "w") as f:
    f.write("animal,a,c,b,d,e,f\n")
    for row, label in zip(x, y): f.write(name[label] + "," + ",".join(map(repr, [row[0], row[2], row[1]] + row[3:])) + "\n")
with open(folder + "moved.csv", "w") as f:
    f.write("animal,a,b,c,d,e,f\n")
    for row, label in zip(x, y): f.write(name[label] + "," + ",".join(map(repr, row)) + "\n")
with open(folder + "still.csv", "w") as f:
    f.write("dead,a,b,c,off,d,e,f,animal\n")
    for row, label in zip(x, y): f.write("1.5," + ",".join(map(repr, row[:3])) + ",0," + ",".join(map(repr, row[3:])) + "," + name[label] + "\n")
open(folder + "semi.csv", "w").write(open(folder + "data.csv").read().replace(",", ";"))
lines = open(folder + "data.csv").read().split("\n")
lines[89] = lines[89].replace("dog", "cow").replace("cat", "cow"); lines[90] = lines[90].replace("dog", "cow").replace("cat", "cow")
open(folder + "three.csv", "w").write("\n".join(lines))
write(folder + "dead.npy", (90, 6), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 90)
write(folder + "pickle.npy", (3,), [0, 0, 0], "|O", "q")
write(folder + "bytes.npy", (90,), [ord(c) for v in y for c in name[v]], "|S3", "B")
with open(folder + "bare.csv", "w") as f:
    for row, label in zip(x, y): f.write(",".join(map(repr, row)) + "," + name[label] + "\n")
four = ["bear", "cat", "dog", "eel"]
with open(folder + "four.csv", "w") as f:
    f.write("kind,a,b,c,d,e\n")
    for i in range(120): f.write(four[i % 4] + "," + ",".join(repr(random.gauss(3 if k == i % 4 else 0, 1)) for k in range(5)) + "\n")
write(folder + "ones.npy", (120,), [1.0] * 120)
write(folder + "w243.npy", (2, 4, 3), [0.1 * k for k in range(24)])
write(folder + "values.npy", (90,), [row[0] + 0.3 * row[1] for row in x])
write(folder + "z.npy", (90, 3), [random.random() for _ in range(270)])
write(folder + "skew.npy", (90, 90), [1.0 if i // 90 == i % 90 else 0.5 if i == 7 else 0.0 for i in range(8100)])
PYTHON
python3 "$work/make.py" "$work" || fail "the inputs could not be made"

# field FILE PATH: a member of a JSON file, as a.b.c
field() { python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."): v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$1" "$2"; }
# holds EXPRESSION: python judges the JSON in $work/out, called r
holds() { python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$work/out" "$1" || fail "$last: not true: $1"; }

in="--x $work/x.npy --labels $work/y.npy"
# shellcheck disable=SC2086
{
# The published rows, from the command line
run 0 qsvm --synthetic hard --qubits 8 --re-embed --c 1 --tolerance 1e-8 --json; is_json "$work/out"; silent err
holds 'abs(r["diagnostics"]["off_diagonal"]["mean"] - 0.559484) < 1e-6 and abs(r["diagnostics"]["off_diagonal"]["std"] - 0.147382) < 1e-6'
holds 'abs(r["quantum"]["objective"] / -93.630668 - 1) < 1e-5 and abs(r["quantum"]["support_vectors"] - 149) <= 2'
holds 'abs(r["quantum"]["test"]["f1"] - 0.9540) <= 0.005 and abs(r["quantum"]["test"]["roc_auc"] - 0.99360) <= 0.001'
run 0 qsvm --synthetic hard --qubits 8 --angle-scale 0.1 --c 1; says out "the kernel has collapsed"; says out "raise --angle-scale"; says out "100 % of the rows are support vectors"
run 0 qsvm --synthetic hard --qubits 8 --map zz --c 0.1; says out "can only memorise"; says out "% of the rows are support vectors"; grep -q "angle-scale" "$work/out" && fail "a map is advised --angle-scale, which it refuses"
run 0 qsvm --synthetic easy --qubits 8 --re-embed --c 1 --solver smo --quiet; says out "test"; grep -q "Note" "$work/out" && fail "--quiet says notes"

# Files: two classes by value, the larger one positive
run 0 qsvm $in --qubits 4 --re-embed --report "$work/r.html" --model-out "$work/m.qsvm" --decision-out "$work/d.npy" --profile "$work/trace.json"
says out "'3' 22, '8' 45), 23 to test"; is_json "$work/trace.json"
for word in "ROC curve" "Search of C" "Eigenvalues of K" "Off-diagonal entries" "ordered by label" "Where the time went" "</html>"; do
    grep -q "$word" "$work/r.html" || fail "the report lacks '$word'"
done
run 0 qsvm $in --qubits 4 --re-embed --json; cp "$work/out" "$work/first.json"; holds 'r["quantum"]["test"]["f1"] > 0.8 and len(r["quantum"]["trials"]) == 15'
run 0 qsvm $in --qubits 4 --re-embed --json; [ "$(field "$work/first.json" quantum.c)" = "$(field "$work/out" quantum.c)" ] || fail "two runs differ"
run 0 qsvm $in --qubits 4 --re-embed --json --seed 5; [ "$(field "$work/first.json" quantum.c)" != "$(field "$work/out" quantum.c)" ] || fail "the seed does nothing"
run 0 qsvm --x "$work/x32.npy" --labels "$work/y.csv" --qubits 4 --test-fraction 0 --train-subset 60 --json; holds 'r["n_train"] == 60 and r["n_test"] == 0 and r["features"] == 6 and "test" not in r["quantum"]'
run 0 qsvm --x "$work/data.csv" --label-column animal --json --compare-rbf; holds 'r["classes"][1]["name"] == "dog" and r["rbf"]["gamma"] > 0 and not r["reduced"] and r["qubits"] == 6'
run 0 qsvm --x "$work/data.csv" --label-column last --classes dog,cat --json; holds 'r["classes"][1]["name"] == "cat"'
run 0 qsvm --x "$work/x.npy" --labels "$work/many.npy" --classes 1,4 --qubits 2 --json; holds 'r["n_train"] + r["n_test"] == 36'
run 0 qsvm --x "$work/data.csv" --label-column 7 --test-x "$work/data.csv" --select --tune-threshold --json; holds 'len(r["candidates"]) > 20 and r["n_test"] == 90'
run 0 qsvm $in --weights "$work/w.npy" --center --normalize --c 2 --folds 0 --no-balanced --weight-1 2 --json; holds 'r["layers"] == 2 and r["qubits"] == 4 and r["quantum"]["c"] == 2 and r["quantum"]["trials"] == []'

# Stored machines on new rows
run 0 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --out "$work/p.npy" --decision-out "$work/dd.npy" --labels "$work/y.npy"; says out "F1"; says out "90 rows"
python3 - "$work/p.npy" <<'PYTHON' || fail "predicted labels are not the classes"
import struct, sys
b = open(sys.argv[1], "rb").read()
sys.exit(0 if set(struct.unpack("<90q", b[-720:])) == {3, 8} else 1)
PYTHON
run 0 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --json; is_json "$work/out"; holds 'r["n"] == 90 and sum(r["predicted"]) == 90'
run 0 qsvm --x "$work/data.csv" --label-column animal --model-out "$work/names.qsvm" --quiet
run 0 qsvm predict --model "$work/names.qsvm" --x "$work/data.csv" --label-column animal --out "$work/p2.npy"; says out "90 rows"
# Classes come back by their names: texts in .npy, lines in CSV, strings in JSON; all of them are read back as labels
python3 - "$work/p2.npy" <<'PYTHON' || fail "predicted names are not texts"
import sys
b = open(sys.argv[1], "rb").read()
n = 10 + b[8] + 256 * b[9]
words = b[n:].decode("utf-32-le").replace("\0", "")
sys.exit(0 if b"'descr': '<U3'" in b[:n] and len(words) == 270 and set(words[k:k + 3] for k in range(0, 270, 3)) == {"cat", "dog"} else 1)
PYTHON
run 0 qsvm predict --model "$work/names.qsvm" --x "$work/data.csv" --label-column animal --out "$work/p2.csv" --decision-out "$work/d2.csv"
[ "$(sort -u "$work/p2.csv" | tr '\n' ' ')" = "cat dog " ] && [ "$(wc -l <"$work/p2.csv")" -eq 90 ] || fail "$last: $(head -n 2 "$work/p2.csv")"
[ "$(wc -l <"$work/d2.csv")" -eq 90 ] && head -n 1 "$work/d2.csv" | grep -qE '^-?[0-9.]+(e-?[0-9]+)?$' || fail "$last: decision values are no CSV"
run 0 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --out "$work/p.csv" --quiet
[ "$(sort -u "$work/p.csv" | tr '\n' ' ')" = "3 8 " ] || fail "$last: $(head -n 2 "$work/p.csv")"
run 0 qsvm predict --model "$work/names.qsvm" --x "$work/data.csv" --label-column animal --json; holds 'set(r["labels"]) == {"cat", "dog"} and len(r["labels"]) == 90'
run 0 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --json; holds 'set(r["labels"]) == {3, 8}'
for labels in p2.npy p2.csv bytes.npy; do run 0 qsvm --x "$work/x.npy" --labels "$work/$labels" --qubits 2 --c 1 --json; holds 'r["classes"][1]["name"] == "dog"'; done
for path in p.txt p.npz p; do
    run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --out "$work/$path"; says err "--out $work/$path: expected a name that ends in .npy or .csv"
    run 2 qsvm $in --decision-out "$work/$path"; says err "--decision-out $work/$path: expected a name that ends in .npy or .csv"
    [ ! -e "$work/$path" ] || fail "$last wrote $path"
done
# Features that never change are named; rows without any other are refused
run 0 qsvm --x "$work/still.csv" --label-column animal --c 1; says out "2 of 8 features never change in the training rows and tell nothing: 'dead', 'off'"
run 2 qsvm --x "$work/dead.npy" --labels "$work/y.npy" --model-out "$work/bad.qsvm"; says err "have the same features"
# Other separators; three classes, of which one has two rows only
run 0 qsvm --x "$work/semi.csv" --label-column animal --c 1 --json; holds 'r["classes"][1]["name"] == "dog" and r["features"] == 6'
run 2 qsvm --x "$work/three.csv" --label-column animal; says err "class 'cow' has 1 training rows, too few for 3 folds"
run 0 qsvm --x "$work/three.csv" --label-column animal --classes cat,dog --c 1; says out "2 rows of other classes are left out"
run 0 qsvm --x "$work/three.csv" --label-column animal --classes cat,dog --c 1 --json; holds 'r["n_left_out"] == 2 and r["n_train"] + r["n_test"] == 88'
run 2 qsvm --x "$work/y.csv" --label-column last; says err "has one column, that of the labels: no column of features is left"
run 2 qsvm --x "$work/pickle.npy" --labels "$work/y.npy"; says err "holds Python objects"; says err "x.astype(float)"
run 2 qsvm --x "$work/bytes.npy" --labels "$work/y.npy"; says err "holds texts, expected numbers"

# Several classes one against one, by texts in a column, with probabilities and weights; kept, and back by their names
run 0 qsvm --x "$work/four.csv" --label-column kind --re-embed --angle-scale 2 --probability --probability-out "$work/prob.csv" --decision-out "$work/pairs.csv" \
    --model-out "$work/four.qsvm" --report "$work/four.html"
says out "(4 classes: 'bear' 22, 'cat' 22, 'dog' 22, 'eel' 22)"; says out "6 machines"
grep -q "taken for another" "$work/four.html" || fail "the report lacks the confusion"
[ "$(head -n 1 "$work/prob.csv" | tr ',' '\n' | wc -l)" -eq 4 ] && [ "$(wc -l <"$work/prob.csv")" -eq 32 ] || fail "$last: probabilities"
[ "$(head -n 1 "$work/pairs.csv" | tr ',' '\n' | wc -l)" -eq 6 ] || fail "$last: decisions of pairs"
awk -F, '{ s = $1 + $2 + $3 + $4; if (s < 0.999999 || s > 1.000001) exit 1 }' "$work/prob.csv" || fail "probabilities do not sum to one"
run 0 qsvm predict --model "$work/four.qsvm" --x "$work/four.csv" --label-column kind --out "$work/four-p.npy" --probability-out "$work/four-pr.npy" --json
holds 'r["scores"]["accuracy"] > 0.8 and set(r["labels"]) == {"bear", "cat", "dog", "eel"} and len(r["confusion"]) == 4 and sum(r["predicted"]) == 120'
run 0 qsvm predict --model "$work/four.qsvm" --x "$work/four.csv" --label-column kind --out "$work/four-p.csv"; says out "accuracy"
[ "$(sort -u "$work/four-p.csv" | tr '\n' ' ')" = "bear cat dog eel " ] || fail "$last: $(head -n 2 "$work/four-p.csv")"
run 0 qsvm --x "$work/four.csv" --label-column kind --classes dog,eel,cat --c 1 --json; holds 'r["n_left_out"] == 30 and [c["name"] for c in r["classes"]] == ["dog", "eel", "cat"] and r["machines"] == 3'
run 0 qsvm --x "$work/four.csv" --label-column kind --class-weights dog=3,eel=0.5 --sample-weights "$work/ones.npy" --c 1 --json; holds 'r["quantum"]["solver"] == "smo"'
run 2 qsvm --x "$work/four.csv" --label-column kind --class-weights cow=3; says err "--class-weights names 'cow', which is no class"
run 2 qsvm --x "$work/four.csv" --label-column kind --class-weights dog; says err "expected NAME=W"
run 2 qsvm --x "$work/four.csv" --label-column kind --tune-threshold; says err "two classes"
run 2 qsvm --x "$work/four.csv" --label-column kind --sample-weights "$work/y.npy"; says err "90 labels, but there are 120 rows"
run 2 qsvm --x "$work/four.csv" --label-column kind --sample-weights "$work/ones.npy" --solver libsvm; says err "without sample weights"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --probability-out "$work/bad.npy"; says err "trained without --probability"
# Any map or circuit for the kernel
run 0 qsvm --x "$work/four.csv" --label-column kind --map 'zz(reps=1)' --qubits 3 --c 2 --json --model-out "$work/zz.qsvm"; holds 'r["map"] == "zz(reps=1)" and r["qubits"] == 3 and r["similarity"] == "fidelity"'
run 0 qsvm predict --model "$work/zz.qsvm" --x "$work/four.csv" --label-column kind --out "$work/zz.csv"; says out "a map"
run 0 qsvm --x "$work/four.csv" --label-column kind --map 'strong(reupload=true)' --qubits 4 --weights "$work/w243.npy" --c 2 --similarity projected --gamma 1 --json
holds 'r["similarity"] == "projected"'
cat >"$work/two.qasm" <<'QASM'
OPENQASM 3.0;
include "stdgates.inc";
qubit[2] q;
input array[float[64], 2] x;
input float[64] w0;
ry(x[0]) q[0]; ry(w0*x[1]) q[1]; cx q[0], q[1]; rz(x[0]*x[1]) q[1]; cx q[0], q[1]; ry(x[1]) q[0];
QASM
run 0 qsvm --x "$work/four.csv" --label-column kind --circuit "$work/two.qasm" --c 2 --model-out "$work/two.qsvm" --json; holds 'r["qubits"] == 2 and r["reduced"]'
run 0 qsvm predict --model "$work/two.qsvm" --x "$work/four.csv" --label-column kind --out "$work/two.csv"; says out "a circuit"
run 2 qsvm $in --map zz --embed angle; says err "about layers"
run 2 qsvm $in --map zz --shots 100; says err "lathe gram --shots"
run 2 qsvm $in --map zz --weights "$work/w.npy"; says err "8 weights, expected 0"
run 2 qsvm $in --similarity projected; says err "there is none"
run 2 qsvm $in --map zz --circuit "$work/two.qasm"; says err "both name a circuit"
# Numbers, and one class
run 0 qsvm --x "$work/x.npy" --labels "$work/values.npy" --task regress --epsilon 0.05 --re-embed --model-out "$work/r.qsvm" --report "$work/r2.html" --compare-rbf; says out "R2"
run 0 qsvm predict --model "$work/r.qsvm" --x "$work/x.npy" --labels "$work/values.npy" --out "$work/v.npy" --json; holds 'r["scores"]["r2"] > 0.5 and len(r["values"]) == 90'
run 0 qsvm --x "$work/x.npy" --labels "$work/values.npy" --task regress --json; holds 'r["task"] == "regress" and all("r2" in t for t in r["quantum"]["trials"])'
run 0 qsvm --x "$work/x.npy" --task one-class --nu 0.2 --angle-scale 0.5 --model-out "$work/o.qsvm" --report "$work/o.html"; says out "like the training rows"
run 0 qsvm predict --model "$work/o.qsvm" --x "$work/x.npy" --out "$work/o.csv"; says out "like the training rows"
[ "$(sort -u "$work/o.csv" | tr '\n' ' ')" = "-1 1 " ] || fail "$last: $(head -n 2 "$work/o.csv")"
run 2 qsvm --x "$work/data.csv" --label-column animal --task regress; says err "is 'cat', expected a number"
run 2 qsvm $in --task one-class; says err "learns without labels"
run 2 qsvm --x "$work/x.npy" --task one-class --c 1; says err "nu says"
run 2 qsvm $in --task regress --probability; says err "probabilities are of classes"
run 2 qsvm predict --model "$work/o.qsvm" --x "$work/x.npy" --labels "$work/y.npy" --out "$work/bad.csv"; says err "knows no labels"
# A kernel computed before: the same machine as from its features
run 0 gram --x "$work/z.npy" --map 'zz(reps=1)' --out "$work/K.npy"
run 0 qsvm --kernel "$work/K.npy" --labels "$work/many.npy" --c 2 --model-out "$work/k.qsvm" --json; holds 'r["kernel_from"].endswith("K.npy") and r["n_test"] > 10'
run 0 qsvm --x "$work/z.npy" --labels "$work/many.npy" --map 'zz(reps=1)' --range none --c 2 --json; cp "$work/out" "$work/x.json"
run 0 qsvm --kernel "$work/K.npy" --labels "$work/many.npy" --c 2 --json
holds 'abs(r["quantum"]["objective"] / json.load(open("'"$work"'/x.json"))["quantum"]["objective"] - 1) < 1e-9'
holds 'r["quantum"]["test"]["accuracy"] == json.load(open("'"$work"'/x.json"))["quantum"]["test"]["accuracy"]'
run 0 qsvm --kernel "$work/K.npy" --labels "$work/many.npy" --c 2 --folds 0 --test-kernel "$work/K.npy" --test-labels "$work/many.npy" --model-out "$work/k.qsvm" --json; holds 'r["n_test"] == 90'
run 0 qsvm predict --model "$work/k.qsvm" --kernel "$work/K.npy" --out "$work/kp.npy"; says out "a kernel computed before"
run 2 qsvm predict --model "$work/k.qsvm" --x "$work/x.npy" --out "$work/bad.npy"; says err "give --kernel, new rows by its 90 training rows"
run 2 qsvm predict --model "$work/m.qsvm" --kernel "$work/K.npy" --out "$work/bad.npy"; says err "computes its kernel itself"
run 2 qsvm --kernel "$work/x.npy" --labels "$work/y.npy"; says err "90 x 6, expected the kernel of rows with themselves"
run 2 qsvm --kernel "$work/skew.npy" --labels "$work/y.npy"; says err "it must be symmetric"
run 2 qsvm --kernel "$work/K.npy" --labels "$work/y.npy" --qubits 3; says err "computed already"
run 2 qsvm --kernel "$work/K.npy" --labels "$work/y.npy" --embed angle; says err "computed already"
run 2 qsvm --kernel "$work/K.npy" --x "$work/x.npy" --labels "$work/y.npy"; says err "leave --x"
run 2 qsvm $in --test-kernel "$work/K.npy"; says err "goes with --kernel"

# Columns go by their order, and their names are compared where both are known; the label's place does not matter
mixed="column 2, labels not counted, is 'c', expected 'b' as in training"
run 2 qsvm predict --model "$work/names.qsvm" --x "$work/turned.csv" --label-column animal --out "$work/bad.npy"; says err "$mixed"
run 2 qsvm --x "$work/data.csv" --label-column animal --test-x "$work/turned.csv" --model-out "$work/bad.qsvm"; says err "--test-x"; says err "$mixed"
run 0 qsvm predict --model "$work/names.qsvm" --x "$work/moved.csv" --label-column animal --out "$work/p3.npy" --quiet
cmp -s "$work/p2.npy" "$work/p3.npy" || fail "the label's place changed the answer"
run 0 qsvm predict --model "$work/names.qsvm" --x "$work/bare.csv" --label-column last --out "$work/p4.npy" --quiet
cmp -s "$work/p2.npy" "$work/p4.npy" || fail "a file without a header changed the answer"

# Bad input: status 2, a text that names it, nothing left behind
out="--model-out $work/bad.qsvm --report $work/bad.html --decision-out $work/bad.npy"
run 2 qsvm $out; says err "--x"
run 2 qsvm --x "$work/x.npy" $out; says err "which labels"
run 2 qsvm --x "$work/x.npy" --labels "$work/short.npy" $out; says err "80 labels, but there are 90 rows"
run 2 qsvm --x "$work/x.npy" --labels "$work/one.npy" $out; says err "all 90 labels are '3'"
run 2 qsvm --x "$work/x.npy" --labels "$work/many.npy" --classes 1,9 $out; says err "names '9', which is the label of no row"
run 2 qsvm $in --classes 3 $out; says err "expected two names A,B"
run 2 qsvm --x "$work/x.npy" --labels "$work/few.npy" $out; says err "too few for 3 folds"
run 2 qsvm --x "$work/nan.npy" --labels "$work/y.npy" --test-fraction 0 --model-out "$work/bad.qsvm"; says err "row 4, column 2"
run 2 qsvm --x "$work/nan.npy" --labels "$work/y.npy" --test-fraction 0.5 $out; says err "nan.npy is nan at row 4, column 2" # of the file, whatever is held out
run 2 qsvm $in --test-fraction 0.999 $out; says err "--test-fraction 0.999 holds all 90 rows out"
run 2 qsvm --x "$work/empty.npy" --labels "$work/y.npy" $out; says err "at least one of each"
run 2 qsvm --x "$work/flat.npy" --labels "$work/y.npy" $out; says err "[540]"
run 2 qsvm --x "$work/make.py" --labels "$work/y.npy" $out; says err "expected a .npy file"
run 2 qsvm --x "$work/missing.npy" --labels "$work/y.npy" $out; says err "missing.npy"
run 2 qsvm --x "$work/typo.csv" --label-column animal $out; says err "typo.csv:6: column 2 ('b') is 'oops"
run 2 qsvm --x "$work/ragged.csv" --label-column animal $out; says err "ragged.csv:8: 8 columns, expected 7"
run 2 qsvm --x "$work/data.csv" --label-column colour $out; says err "no column is called 'colour'; the first of 7 is 'a'"
run 2 qsvm --x "$work/data.csv" --labels "$work/y.npy" $out; says err "column 7 ('animal') is 'cat'"
run 2 qsvm $in --label-column 1 $out; says err "not from both"
run 2 qsvm --x "$work/x.npy" --label-column 1 $out; says err "is none"
run 2 qsvm $in --c 0 $out; says err "'c'"
run 2 qsvm $in --c -1 $out; says err "-1"
run 2 qsvm $in --c-low 5 --c-high 1 $out; says err "from 5 to 1"
run 2 qsvm $in --folds 1 $out; says err "1 fold"
run 2 qsvm $in --folds 0 $out; says err "give C"
run 2 qsvm $in --qubits 7 $out; says err "7 qubits, but rows have 6 features"
run 2 qsvm $in --weights "$work/y.npy" $out; says err "[layers, qubits]"
run 2 qsvm $in --weights "$work/w.npy" --layers 3 $out; says err "only 2"
for labels in large.npy large.csv; do run 0 qsvm --x "$work/x.npy" --labels "$work/$labels" --json; says out '"9007199254740993"'; done # one double for both
run 0 qsvm --x "$work/x.npy" --labels "$work/large.npy" --model-out "$work/large.qsvm"
run 0 qsvm predict --model "$work/large.qsvm" --x "$work/x.npy" --out "$work/large-p.npy"
grep -q "'<i8'" "$work/large-p.npy" && python3 -c 'import struct, sys; v = set(struct.unpack("<90q", open(sys.argv[1], "rb").read()[-720:])); assert v == {2**53, 2**53 + 1}, v' "$work/large-p.npy" ||
    fail "$last: other labels than those of the file"
run 2 qsvm $in --packed $out; says err "packed"
run 2 qsvm $in --c-low 1e-300 --c-high 1e300 $out; says err "from 1e-300 to 1e+300, expected ends whose ratio is a number"
run 0 qsvm $in --trials 1 --c-high 1e12; grep -q "end of the search" "$work/out" && fail "$last: the only value tried is said to lie at an end"
run 2 qsvm $in --test-x "$work/wide.npy" --test-labels "$work/y.npy" $out; says err "9 rows"
run 2 qsvm $in --test-x "$work/x.npy" $out; says err "--test-labels"
run 2 qsvm $in --test-labels "$work/y.npy" $out; says err "goes with --test-x"
run 2 qsvm $in --train-subset 100 $out; says err "--train-subset 100"
run 2 qsvm --synthetic hard --x "$work/x.npy" $out; says err "brings its own rows"
run 2 qsvm $in --model-out "$work/no/such/m.qsvm"; says err "m.qsvm"
run 2 qsvm predict --x "$work/x.npy" --out "$work/bad.npy"; says err "--model"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy"; says err "nothing to write"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --out "$work/x.npy"; says err "is also what --x reads"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --out "$work/m.qsvm"; says err "is also what --model reads"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --probability-out "$work/x.npy"; says err "is also what --x reads"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --out "$work/p.npy" --decision-out "$work/p.npy"; says err "are the same file"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/wide.npy" --out "$work/bad.npy"; says err "7 columns, but the machine was trained on 6"
run 2 qsvm predict --model "$work/m.qsvm" --x "$work/x.npy" --labels "$work/many.npy" --out "$work/bad.npy"; says err "row 0 (counted from 0) is '0', expected '3' or '8'"
run 2 qsvm predict --model "$work/missing.qsvm" --x "$work/x.npy" --out "$work/bad.npy"; says err "missing.qsvm"
run 2 qsvm predict --model "$work/y.csv" --x "$work/x.npy" --out "$work/bad.npy"; says err "expected a zip archive"
grep -q "(src/" "$work/err" && fail "$last: names a place in the source"
run 2 qsvm predict --model "$work/x.npy" --x "$work/x.npy" --out "$work/bad.npy"; says err "x.npy"
}
# A file cut short, or with one byte turned, is refused or harmless, never a crash
python3 - "$work" <<'PYTHON'
import sys
b = open(sys.argv[1] + "/m.qsvm", "rb").read()
for i in range(12):
    at = 97 * (i + 1) * (i + 3) % len(b)
    c = b[:at] if i % 2 else b[:at] + bytes([b[at] ^ 0x55]) + b[at + 1:]
    open(sys.argv[1] + "/hostile%d.qsvm" % i, "wb").write(c)
PYTHON
for file in "$work"/hostile*.qsvm; do
    "$lathe" qsvm predict --model "$file" --x "$work/x.npy" --out "$work/h.npy" >"$work/out" 2>"$work/err" && code=0 || code=$?
    [ "$code" -eq 2 ] || [ "$code" -eq 0 ] || fail "$file: status $code, expected 2"
done

bench 0 qsvm --quick --json --report "$work/b.html"; is_json "$work/out"; says out '"kernel_and_fit_seconds"'; says out '"commit"'; holds 'all(row["f1"] > 0.9 for row in r["rows"])'
grep -q "</html>" "$work/b.html" || fail "the report of the benchmark is not whole"

for left in "$work"/*bad.*; do [ ! -e "$left" ] || fail "a failed run left $left"; done
finish
