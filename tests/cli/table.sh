#!/bin/sh
# Datasets as tables: table.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1 python=${LATHE_TEST_PYTHON:-python3}
. "$(dirname "$0")/lib.sh"

sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/equal_files.sh" | grep -v '^YAML' >"$work/c.yaml"
if ! "$lathe" generate --config "$work/c.yaml" --output "$work/a.h5" >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
run 0 table "$work/a.h5" --csv "$work/t.csv" --parquet "$work/t.parquet"; says out "40 rows"
[ "$(wc -l <"$work/t.csv")" -eq 41 ] || fail "$last: $(wc -l <"$work/t.csv") lines"
columns=$(sed -n 's/40 rows, \([0-9]*\) columns/\1/p' "$work/out")
awk -F, -v n="$columns" 'NF != n { exit 1 }' "$work/t.csv" || fail "$last: a line does not have $columns cells"
for name in parameters.num_layers parameters.noise_scale summary.trend_strength_mean metadata.ic_types status.code status; do
    head -n 1 "$work/t.csv" | tr ',' '\n' | grep -qx "$name" || fail "$last: no column $name"
done
run 0 table "$work/a.h5" --csv "$work/u.csv" --unit --json; is_json "$work/out"
cmp -s "$work/t.csv" "$work/u.csv" && fail "$last: values are those of the unit interval"
run 2 table "$work/a.h5"; says err "where to?"
run 2 table "$work/a.h5" --csv "$work/a.h5"
run 2 table "$work/a.h5" --csv "$work/both" --parquet "$work/both"; says err "--csv and --parquet are the same file"
ln -s . "$work/again"
run 2 table "$work/a.h5" --csv "$work/both" --parquet "$work/again/both"; says err "--csv and --parquet are the same file"
run 2 table "$work/a.h5" --parquet "$work/again"; says err "it is a folder"
mkfifo "$work/pipe"
run 2 table "$work/a.h5" --parquet "$work/pipe"; says err "it is not a regular file"
run 2 table "$work/none.h5" --csv "$work/n.csv"
run 2 table "$work/c.yaml" --csv "$work/n.csv"; [ ! -e "$work/n.csv" ] || fail "$last: left a file"
(ulimit -f 8; exec "$lathe" table "$work/a.h5" --csv "$work/n.csv") >"$work/out" 2>"$work/err" && got=0 || got=$?
[ "$got" -eq 1 ] || fail "no room: status $got"
[ ! -e "$work/n.csv" ] || fail "no room: left a file"
"$python" - "$work/t.parquet" "$work/t.csv" <<'EOF' >"$work/py" 2>&1 && got=0 || got=$?
import csv, sys
try:
    import pyarrow.parquet as pq
except ImportError:
    sys.exit(77)
table = pq.read_table(sys.argv[1])
rows = list(csv.reader(open(sys.argv[2])))
assert table.column_names == rows[0] and table.num_rows == len(rows) - 1 == 40
for name, cells in zip(rows[0], zip(*rows[1:])):
    for a, b in zip(table.column(name).to_pylist(), cells):
        same = (b == ("true" if a else "false")) if isinstance(a, bool) else a == b if isinstance(a, str) else (a != a and b == "nan") or float(b) == a or abs(float(b) - a) <= 1e-6 * abs(a)
        assert same, (name, a, b)
EOF
case $got in 0) echo "Parquet read back by pyarrow" ;; 77) echo "no pyarrow: the Parquet file was not read back" ;; *) fail "Parquet: $(tail -n 1 "$work/py")" ;; esac
finish
