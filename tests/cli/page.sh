#!/bin/sh
# The page about a dataset: page.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1 python=${LATHE_TEST_PYTHON:-python3}
. "$(dirname "$0")/lib.sh"

sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/equal_files.sh" | grep -v '^YAML' >"$work/c.yaml"
if ! "$lathe" generate --config "$work/c.yaml" --output "$work/a.h5" --report "$work/g.html" --quiet >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
has() { grep -qF -- "$2" "$work/$1" || fail "$1 lacks '$2'"; }
run 0 info "$work/a.h5" --report "$work/i.html"; silent err
for page in g.html i.html; do
    for text in '>num_layers<' '>noise_scale<' 'Best: operator ' 'Median: operator ' 'Worst: operator ' 'energy times ' 'None: every finished rollout' '</html>'; do has $page "$text"; done
    grep -qE '[1-9][0-9]*\.[0-9]{6,}|0\.0*[1-9][0-9]{6,}' "$work/$page" && fail "$page: a number of seven digits: $(grep -oE '[0-9]+\.[0-9]{6,}' "$work/$page" | head -n 1)"
done
run 0 info "$work/a.h5" --report "$work/j.html" --json; is_json "$work/out"
run 2 info "$work/a.h5" --report "$work/a.h5"
run 2 info "$work/a.h5" --report "$work/none/x.html"
(ulimit -f 1; exec "$lathe" info "$work/a.h5" --report "$work/small.html") >"$work/out" 2>"$work/err" && got=0 || got=$?
[ "$got" -eq 1 ] || fail "no room: status $got"
[ ! -e "$work/small.html" ] || fail "no room: left a file"

# Rows that did not end well; files of others, with stored states and without.
"$python" - "$work/a.h5" "$work/b.h5" "$work/f.h5" <<'PY' >"$work/py" 2>&1 && got=0 || got=$?
import shutil, sys
try:
    import h5py, numpy as np
except ImportError:
    sys.exit(77)
shutil.copy(sys.argv[1], sys.argv[2])
with h5py.File(sys.argv[2], "r+") as b:
    b["status/code"][2:5] = 2, 3, 4
    b["status/step"][2] = 1
with h5py.File(sys.argv[3], "w") as f:
    f["parameters/params"] = np.random.default_rng(0).random((4, 2), dtype=np.float32)
    f["outputs/fields"] = np.random.default_rng(1).random((4, 2, 5, 3, 8, 8), dtype=np.float32)
PY
if [ "$got" -eq 0 ]; then
    run 0 info "$work/b.h5" --report "$work/b.html"
    for text in '>2<' 'stopped being finite at step 1 of' 'could not be built or run' 'lathe generate --resume makes it'; do has b.html "$text"; done
    run 0 info "$work/f.h5" --report "$work/f.html"; has f.html 'as stored'; has f.html 'Operator 3'
fi
finish
