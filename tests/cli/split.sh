#!/bin/sh
# Splits, statistics and cards of datasets: split.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1 python=${LATHE_TEST_PYTHON:-python3}
. "$(dirname "$0")/lib.sh"

# Two architectures by two types of initial field, 120 rows.
cat >"$work/c.yaml" <<'YAML'
metadata: {name: "cards | and <b>", description: two kinds of operators, author: nobody, license: CC-BY-4.0}
parameter_space:
  architecture: {num_layers: {type: integer, bounds: [1, 2]}, base_channels: {type: integer, bounds: [2, 3]}, kernel_size: {type: choice, choices: [1]}, dropout_rate: {type: continuous, bounds: [0.0, 0.1]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.01, 0.1]}}
  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}
sampling: {total_samples: 120, batch_size: 40, sobol: {seed: 3}}
simulation: {device: cpu, num_realizations: 1, num_timesteps: 4, input_generation: {method: sampled, ic_type_weights: {structured: 0.5, localized: 0.5}}}
dataset: {output_path: x.h5}
YAML
if ! "$lathe" generate --config "$work/c.yaml" --output "$work/a.h5" --quiet >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi

run 0 split "$work/a.h5" --seed 5; says out "train 96, val 12, test 12 rows, seed 5"
is_json "$work/a.h5.split.json"; is_json "$work/a.h5.statistics.json"
cp "$work/a.h5.split.json" "$work/first.json"
run 0 split "$work/a.h5" --seed 5; cmp -s "$work/first.json" "$work/a.h5.split.json" || fail "$last: another split"
run 0 split "$work/a.h5" --seed 6 --out "$work/six.json" --statistics "$work/six.st.json" --json; is_json "$work/out"; is_json "$work/six.st.json"
cmp -s "$work/first.json" "$work/six.json" && fail "$last: the seed changes nothing"
run 0 split "$work/a.h5" --train 100 --val 10 --test 3 --out "$work/counts.json" --without-statistics; says out "train 100, val 10, test 3 rows"
run 0 split "$work/a.h5" --train 1 --val 0 --test 0 --out "$work/one.json" --without-statistics; says out "train 120, val 0, test 0 rows"
run 0 split "$work/a.h5" --with-status failed --out "$work/none.json" --without-statistics; says out "train 0, val 0, test 0 rows"
run 0 split "$work/a.h5" --stratify --train 0.5 --val 0.25 --test 0.25 --out "$work/s.json" --without-statistics; says out "train 60, val 30, test 30 rows"
"$python" - "$work/a.h5" "$work/first.json" "$work/s.json" <<'PY' >"$work/py" 2>&1 && got=0 || got=$?
import collections, hashlib, json, sys
try:
    import h5py, numpy as np
except ImportError:
    sys.exit(77)
f = h5py.File(sys.argv[1])
first, made = (json.load(open(p)) for p in sys.argv[2:])
order = sorted(range(120), key=lambda r: hashlib.sha256(f"lathe split 5 {r}".encode()).digest())
assert first["train"] == sorted(order[:96]) and first["val"] == sorted(order[96:108]) and first["test"] == sorted(order[108:])
assert sorted(made["train"] + made["val"] + made["test"]) == list(range(120)) and made["stratified"]
u = f["parameters/params"][...]
columns = list(f["parameters"].attrs["dimension_names"])
kind = [(int(u[r, columns.index("num_layers")] > 0.5), int(u[r, columns.index("base_channels")] > 0.5)) for r in range(120)]
strata = [(*kind[r], f["metadata/ic_types"].asstr()[r]) for r in range(120)]
for names in (kind, strata):
    for name, n in collections.Counter(names).items():
        for part, share in (("train", 0.5), ("val", 0.25), ("test", 0.25)):
            got = sum(names[r] == name for r in made[part])
            assert abs(got - share * n) <= 1.5, (name, n, part, got)
assert len(set(strata)) == 8
PY
case $got in 0) ;; 77) echo "no h5py: splits were not recomputed" ;; *) fail "splits: $(tail -n 1 "$work/py")" ;; esac

# Bad input: nothing is written.
rm -f "$work/a.h5.split.json" "$work/a.h5.statistics.json"
run 2 split "$work/a.h5" --train 0.9; says err "expected shares that add up to 1 at most"
run 2 split "$work/a.h5" --train 200; says err "expected shares that add up to 1 at most"
run 2 split "$work/a.h5" --train 200 --val 0 --test 0; says err "120 rows at most"
run 2 split "$work/a.h5" --train 0 --val 0 --test 0; says err "expected shares"
run 2 split "$work/a.h5" --train nan
run 2 split "$work/a.h5" --with-status dun; says err "--with-status 'dun'"
run 2 split "$work/a.h5" --out "$work/a.h5"
run 2 split "$work/a.h5" --without-statistics --statistics "$work/x.json"; says err "exclude each other"
run 2 split "$work/none.h5"
run 2 split "$work/c.yaml"
mkdir "$work/a.h5.statistics.json"
run 2 split "$work/a.h5"; says err "it is a folder"
rmdir "$work/a.h5.statistics.json"
run 2 split
[ ! -e "$work/a.h5.split.json" ] || fail "$last: left a file"
(ulimit -f 1; exec "$lathe" split "$work/a.h5") >"$work/out" 2>"$work/err" && got=0 || got=$?
[ "$got" -eq 1 ] || fail "no room: status $got"
ls "$work" | grep -q "lathe-.*tmp\|statistics.json" && fail "no room: left a file"

run 0 card "$work/a.h5"; silent err
for text in '# cards \| and &lt;b>' 'two kinds of operators' '| operators | 120 |' '| license | CC-BY-4.0 |' '| author | nobody |' '## Parameters' '| done | 120 |' 'energy_growth_rate_mean' '"total_samples": 120'; do says out "$text"; done
command -v sha256sum >/dev/null && says out "$(sha256sum "$work/a.h5" | cut -d ' ' -f 1)"
cp "$work/out" "$work/card.md"
run 0 card "$work/a.h5" --output "$work/b.md"; cmp -s "$work/card.md" "$work/b.md" || fail "$last: another card than the printed one"
run 0 card "$work/a.h5" --without-checksum --license MIT --json; is_json "$work/out"; says out "| license | MIT |"; grep -q "SHA-256" "$work/out" && fail "$last: has a checksum"
run 2 card "$work/a.h5" --output "$work/a.h5"
run 2 card "$work/none.h5"
# What is printed goes there, so that one of the two would be lost; /dev/stdout itself would be replaced.
"$lathe" card "$work/a.h5" --output /proc/self/fd/1 >"$work/printed" 2>"$work/err" && got=0 || got=$?
[ "$got" -eq 2 ] && grep -q "what the command prints goes there" "$work/err" || fail "card to standard output: status $got, $(cat "$work/err")"
ln -s elsewhere.md "$work/link.md"
run 2 card "$work/a.h5" --output "$work/link.md"; says err "a symbolic link that leads to no file"
touch "$work/elsewhere.md"
run 0 card "$work/a.h5" --output "$work/link.md"
[ -L "$work/link.md" ] && cmp -s "$work/card.md" "$work/elsewhere.md" || fail "$last: a link is not written where it leads"
run 2 card "$work/c.yaml"
(ulimit -f 1; exec "$lathe" card "$work/a.h5" --output "$work/small.md") >"$work/out" 2>"$work/err" && got=0 || got=$?
[ "$got" -eq 1 ] || fail "no room: status $got"
[ ! -e "$work/small.md" ] || fail "no room: left a file"

# A licence is a note for people: it may differ when a file is resumed.
sed -i 's/license: CC-BY-4.0/license: CC0-1.0/' "$work/c.yaml"
run 0 generate --config "$work/c.yaml" --output "$work/a.h5" --resume --quiet

# Another program's file: no configuration, no status.
"$python" - "$work/a.h5" "$work/f.h5" <<'PY' >"$work/py" 2>&1 && got=0 || got=$?
import sys
try:
    import h5py
except ImportError:
    sys.exit(77)
a, f = h5py.File(sys.argv[1]), h5py.File(sys.argv[2], "w")
f["parameters/params"] = a["parameters/params"][...]
PY
if [ "$got" -eq 0 ]; then
    run 0 card "$work/f.h5"; says out "| made by | another program than lathe |"; says out "# f.h5"
    run 0 split "$work/f.h5"; says out "train 96"
    run 2 split "$work/f.h5" --stratify; says err "no configuration"
fi
finish
