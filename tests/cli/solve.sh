#!/bin/sh
# lathe solve as a user meets it: solve.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"

# number OUT-FIELD: a top-level or nested number of the JSON in $work/out, by python where it is there.
field() { python3 -c 'import json, sys, functools; print(functools.reduce(lambda d, k: d[k], sys.argv[2].split("."), json.load(open(sys.argv[1]))))' "$work/out" "$1"; }
near() { # near FIELD VALUE TOLERANCE
    command -v python3 >/dev/null 2>&1 || return 0
    python3 -c 'import sys; sys.exit(not abs(float(sys.argv[1]) - float(sys.argv[2])) <= float(sys.argv[3]))' "$(field "$1")" "$2" "$3" ||
        fail "$last: $1 is $(field "$1"), expected $2"
}

cat >"$work/rosen.lt" <<'LT'
# Nonsmooth Rosenbrock
var x[2] = [1, 1]
minimize 8*abs(x[0]^2 - x[1]) + (1 - x[0])^2
subject to
  sqrt(2)*x[0] <= 1
  cap: 2*x[1] <= 1
LT
# More constraints with a line each than 256, on one variable
{ printf 'var x[3] = [1, 2, 3]\nminimize sum(x^2)\nsubject to\n'; for i in $(seq 300); do echo "  x[0]*x[$((i % 3))] + $i*x[1] >= $i"; done; } >"$work/rows.lt"
run 0 solve "$work/rows.lt" --quiet; says out "minimum: f = "

run 0 solve "$work/rosen.lt"; says out "Termination code"; says out "x[2] ="; silent err
grep -q "$(printf '\033')" "$work/out" && fail "colours in a pipe"
run 0 solve "$work/rosen.lt" --json --set patience=0 --set lagrangian_updates=false; is_json "$work/out"; silent err; says out '"cap"'; says out '"termination_text"'
near best.f 0.0857864376269 1e-4
if command -v python3 >/dev/null 2>&1; then # what has a name is the point that the text shows and --out writes
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(r["best"] == r["final"] or r["variables"]["x"] != r["best"]["x"] or r["constraints"]["cap"] != r["best"]["ci"][1:])' \
        "$work/out" || fail "$last: variables and constraints are not those of best"
fi
run 0 solve "$work/rosen.lt" --quiet --out "$work/x.npy" --report "$work/rosen.html"; says out "minimum: f ="
grep -q "</html>" "$work/rosen.html" || fail "the report is not whole"
grep -q "All directions: steering" "$work/rosen.html" || fail "$last: the report draws the kinds of directions though there is one"
run 0 solve "$work/rosen.lt" --eval "$work/x.npy" --json; is_json "$work/out"; says out '"grad_ci"'; near f 0.0857864376269 1e-4
run 0 solve "$work/rosen.lt" --quiet --out "$work/sol.npz"; [ -s "$work/sol.npz" ] || fail "no sol.npz"
run 0 solve "$work/rosen.lt" --check; says out "n = 2"
run 2 solve "$work/rosen.lt" --check --set foo=1; says err "unknown option 'foo': see 'lathe explain'"; silent out
run 2 solve "$work/rosen.lt" --dump-graph --set max_iterations=0; says err "max_iterations"; silent out

# Gradients are checked where the run would start: the start of the file lies on a kink, (0.5, 2) does not
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }" >"$work/apart.npy"
printf '\000\000\000\000\000\000\340\077\000\000\000\000\000\000\000\100' >>"$work/apart.npy"
run 1 solve "$work/rosen.lt" --check-gradients; says out "f along variable 0"; says err "at a kink they may"
run 1 solve "$work/rosen.lt" --check-gradients --json; is_json "$work/out"; says out '"passed": false'; says out '"worst_direction": 0'
run 0 solve "$work/rosen.lt" --check-gradients --x0 "$work/apart.npy"; says out "derivatives checked"; silent err
run 2 solve example:B2 --check-gradients --x0 "$work/apart.npy"; says err "300 variables"
printf '\223NUMPY\001\000\166\000%-117s\n%32s' "{'descr': '<c16', 'fortran_order': False, 'shape': (2,), }" "" >"$work/complex.npy"
run 2 solve "$work/rosen.lt" --eval "$work/complex.npy"; says err "complex.npy"; says err "expected real numbers"
run 0 solve "$work/rosen.lt" --dump-graph; says out "as written"; says out "compiled"

# A maximum is reported as the user means it
printf 'var x[2] = 0\nmaximize 3 - (x[0] - 1)^2 - abs(x[1])\n' >"$work/max.lt"
run 0 solve "$work/max.lt" --json; near final.f 3 1e-6
run 0 solve "$work/max.lt" --quiet; says out "maximum: f ="
run 0 solve "$work/max.lt" --set print_ascii=true; says out "|  2.00000000000 |"; says out "|  3.00000000000 |"
run 0 solve "$work/max.lt" --json --set target_f=1.5; near termination_code 2 0
run 0 solve "$work/max.lt" --json --set target_f=3.5; near termination_code 0 0

# Options: the command line wins over the file; mistakes are named
printf 'var x[2] = [5.5, 5.5]\nminimize 8*abs(x[0]^2 - x[1]) + (1 - x[0])^2\noption max_iterations = 3\n' >"$work/opt.lt"
run 0 solve "$work/opt.lt" --json; near termination_code 4 0; near iters 3 0
run 0 solve "$work/opt.lt" --json --set max_iterations=5; near iters 5 0
run 2 solve "$work/opt.lt" --set max_iterations=0; says err "max_iterations"
run 2 solve "$work/opt.lt" --set max_iterations; says err "NAME=VALUE"
run 2 solve "$work/opt.lt" --set opt_tolerance=1; says err "did you mean 'opt_tol'?"
run 2 solve "$work/opt.lt" --set MaxIt=3; says err "--set MaxIt=3: argument: unknown option 'MaxIt': did you mean 'maxit'?"
run 2 solve "$work/opt.lt" --set maxt=3 --set stationarity_tol=x --set wolfe_decrease; says err "did you mean 'maxit'?"; says err "'stationarity_tol' is 'x'"; says err "NAME=VALUE"; says err "3 of the values"
# What is wrong at the start, or with two options together, has a place
printf 'var x = 1\n\nminimize log(-x)\n' >"$work/nan.lt"
run 2 solve "$work/nan.lt"; says err "nan.lt:3: numeric: the objective is nan at x0"
printf 'var x = 0\nminimize sqrt(x)\n' >"$work/nan.lt"
run 2 solve "$work/nan.lt"; says err "nan.lt:2: numeric: the objective's derivative"
printf 'var x = 1\noption wolfe_decrease = 0.4\noption wolfe_slope = 0.1\nminimize x^2\n' >"$work/wolfe.lt"
run 2 solve "$work/wolfe.lt"; says err "wolfe.lt:3:8: argument: option 'wolfe_slope' is 0.1: expected at least wolfe_decrease = 0.4"
run 2 solve "$work/wolfe.lt" --set wolfe_slope=0.2; says err "--set wolfe_slope=0.2: argument: option 'wolfe_slope' is 0.2"
# Numbers have the digits that are theirs
printf 'var x[2] = 1\nminimize 0.3*x[1] - 0.1*x[0]\nsubject to\n  0/0*x[0] <= 1\n' >"$work/digits.lt"
printf "\223NUMPY\001\000v\000{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }                                                            \n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" >"$work/zero.npy"
run 0 solve "$work/digits.lt" --eval "$work/zero.npy"; says out "grad_f[0] = -0.1"; says out "ci[0] = nan"; grep -qE -- "-nan|00000000" "$work/out" && fail "$last: $(cat "$work/out")"

# Checkpoints: stopped after 5 and gone on, the end is that of an uninterrupted run
run 0 solve example:C2 --json --set max_iterations=40; cp "$work/out" "$work/whole"
run 0 solve example:C2 --quiet --set max_iterations=20 --set checkpoint_every=20 --checkpoint "$work/c2.ckpt"
run 0 solve example:C2 --json --set max_iterations=40 --resume "$work/c2.ckpt"
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[1:]); sys.exit(a["final"] != b["final"] or a["fn_evals"] != b["fn_evals"])' \
        "$work/whole" "$work/out" || fail "resuming gives another end than an uninterrupted run"
fi
printf 'nonsense' >"$work/bad.ckpt"
run 2 solve example:C2 --resume "$work/bad.ckpt"; says err "bad.ckpt"
run 2 solve example:B1 --resume "$work/c2.ckpt"; says err "made with n 80"

# Several starts: best first, the same for every number of threads
run 0 solve "$work/rosen.lt" --starts 4 --json --set threads=1; cp "$work/out" "$work/one"
run 0 solve "$work/rosen.lt" --starts 4 --json --set threads=2
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[1:]); sys.exit(a["final"] != b["final"])' "$work/one" "$work/out" ||
        fail "the number of threads changes the best of several starts"
fi

# Examples and explanations
run 0 solve --list; says out "A1 "; says out "D3v"
run 2 solve --list "$work/rosen.lt"; says err "leave '$work/rosen.lt' out"; silent out
run 0 solve --show example:A1; says out "minimize"
run 0 solve example:b1 --json; near termination_code 0 0
run 0 explain code 6; says out "line search"
run 0 explain option mu0; says out "penalty"
run 0 explain code; says out "0 (termination code"; says out "14 (termination code"
run 0 explain option --json; is_json "$work/out"; says out '"name": "stationarity_tol"'; says out '"name": "mu0"'

# Mistakes: where, what, what was expected; status 2
printf 'var x[2]\nminimize asb(x[0])\nsubject to\n  x[0] < 1\n' >"$work/bad.lt"
run 2 solve "$work/bad.lt"; says err "bad.lt:2:10: error: unknown function 'asb'; did you mean 'abs'?"; says err "bad.lt:4:3: error: '<' is not a constraint; use '<='"
silent out
run 2 solve; says err "which problem"
run 2 solve "$work/none.lt"; says err "none.lt"
run 2 solve example:Z9; says err "Z9"; says err "--list"
run 2 solve "$work/rosen.lt" --eval "$work/rosen.lt"; says err "rosen.lt"
run 2 solve "$work/rosen.lt" --x0 "$work/none.npy"; says err "none.npy"

# What would fail at the end fails at once; nothing is run and nothing written
printf 'var x[2] = 0\nminimize sum(x)\n' >"$work/unbounded.lt"
for option in out report checkpoint; do
    case $option in out) name=x.npy ;; *) name=file ;; esac
    run 2 solve "$work/rosen.lt" --$option "$work/nowhere/$name"; says err "nowhere"; silent out
done
cp "$work/rosen.lt" "$work/same.lt"
for option in report checkpoint profile; do run 2 solve "$work/same.lt" --$option "$work/same.lt"; says err "is also what the command reads"; silent out; done
cmp -s "$work/rosen.lt" "$work/same.lt" || fail "a problem was written over"
run 2 solve "$work/rosen.lt" --x0 "$work/x.npy" --out "$work/x.npy"; says err "is also what --x0 reads"
run 2 solve "$work/rosen.lt" --checkpoint "$work/one.ckpt" --report "$work/one.ckpt"; says err "are the same file"
run 0 solve example:C2 --quiet --set max_iterations=30 --resume "$work/c2.ckpt" --checkpoint "$work/c2.ckpt" # a run that goes on in its file
run 2 solve "$work/rosen.lt" --out "$work/x.txt"; says err ".npz"
run 2 solve "$work/rosen.lt" --starts 3 --checkpoint "$work/c"; says err "single run"
run 2 solve "$work/rosen.lt" --starts 3 --resume "$work/c"; says err "single run"
run 2 solve "$work/rosen.lt" --set x0="$work/none.npy"; says err "none.npy"
run 2 solve "$work/rosen.lt" --set H0="$work/x.npy"; says err "expected 4 numbers"
run 2 solve "$work/rosen.lt" --set lbfgs_state="$work/sol.npz"; says err "lbfgs_pairs"
run 2 solve "$work/rosen.lt" --set QPsolver=gurobi; says err "unknown option 'QPsolver'"
run 2 solve "$work"; says err "not a regular file"
run 2 solve example:B2 --x0 "$work/x.npy"; says err "expected 300 numbers"
run 2 solve example:B2 --eval "$work/x.npy"; says err "300 variables"

# Starts where the functions do not exist
printf 'var x[2] = 0\nminimize log(x[0] - 1) + x[1]\n' >"$work/nan.lt"
run 2 solve "$work/nan.lt"; says err "the objective is nan at x0"
printf 'var x[2] = 0\nminimize x[0]\nsubject to\n  1/x[1] <= 3\n' >"$work/inf.lt"
run 2 solve "$work/inf.lt"; says err "inequality constraint 0 is inf at x0"; says err "inf.lt:4: "
printf 'var x[3] = [1, 0, -1]\nminimize sum(x^2)\nsubject to\n  x[0] <= 3\n  logs: log(x) <= 2\n  x[0] == 1\n  roots: 1/x[1:2] == 1\n' >"$work/named.lt"
run 2 solve "$work/named.lt"; says err "named.lt:7: 'roots': "; says err ": equality constraint 1 is inf at x0"
sed -i 's/^  roots.*//' "$work/named.lt"
run 2 solve "$work/named.lt" --starts 2; says err "named.lt:5: 'logs': "; says err "inequality constraint 2 is"
printf 'var x[2] = 0\nminimize abs(x[1]) + sqrt(x[0])\n' >"$work/kink.lt"
run 2 solve "$work/kink.lt"; says err "derivative to x[0]"

# Runs that end badly keep their results, in text and JSON
run 1 solve "$work/unbounded.lt" --quiet; says out "best found: f ="; says out "x[2] ="; says err "code 8"
run 0 solve "$work/opt.lt" --quiet; says out "best found: f =" # max_iterations is no minimum
run 1 solve "$work/unbounded.lt" --json --out "$work/far.npy"; is_json "$work/out"; near termination_code 8 0; says out '"H_final"'; says err "code 8"
[ -s "$work/far.npy" ] || fail "$last: no result written"
printf 'var x[2] = 0\nminimize x[0]^2 + x[1]^2\nsubject to\n  x[0] <= 1\n  x[0] >= 2\n' >"$work/torn.lt"
run 1 solve "$work/torn.lt" --quiet; says out "infeasible: f = "
run 1 solve "$work/torn.lt" --json; is_json "$work/out"; near termination_code 7 0; near final.tv 1 1e-6
run 0 solve "$work/rosen.lt" --json --set prescale_above=1; says out '"scalings"'; says out '"best_unscaled"'
run 0 solve "$work/rosen.lt" --json --set lbfgs_pairs=3; says out '"gamma"'
run 0 solve "$work/rosen.lt" --json --starts 3; says out '"starts"'; says out '"fn_evals"'
run 0 solve "$work/rosen.lt" --check --json; is_json "$work/out"; says out '"description"'
printf 'var f[2] = [1, 2]\nvar mu = 1\nminimize sum(abs(f)) + mu^2\n' >"$work/names.lt"
run 0 solve "$work/names.lt" --quiet --out "$work/names.npz"
if command -v python3 >/dev/null 2>&1 && python3 -c 'import numpy' 2>/dev/null; then
    python3 -c 'import numpy, sys; d = numpy.load(sys.argv[1]); sys.exit(sorted(d.files) != ["H", "f", "f_", "mu", "mu_"] or d["f"].shape != (2,))' \
        "$work/names.npz" || fail "$last: variables called f and mu"
fi

# A start from the result of another run: x, mu, H and multipliers, from JSON or .npz; what does not fit is named
run 0 solve "$work/rosen.lt" --json; cp "$work/out" "$work/r.json"
run 0 solve "$work/rosen.lt" --quiet --out "$work/r.npz"
for result in r.json r.npz; do
    run 0 solve "$work/rosen.lt" --x0 "$work/$result"; says out "Start: x, mu = 1, H, multipliers of"; says out "$result"
    run 0 solve "$work/rosen.lt" --x0 "$work/$result" --set mu0=0.5; says out "Start: x, H, multipliers of"
    run 0 solve "$work/rosen.lt" --x0 "$work/$result" --json; near final.f 0.0857864376269 1e-7; near iters 0 2
    run 2 solve example:B2 --x0 "$work/$result"; says err "$result is the result of another problem"
    head -c 500 "$work/$result" >"$work/cut.${result#r.}"
    run 2 solve "$work/rosen.lt" --x0 "$work/cut.${result#r.}"; says err "cut.${result#r.}"; silent out
done
run 0 solve "$work/names.lt" --x0 "$work/names.npz" --json; near iters 0 2
# Bounds that are kept are among the inequalities of a result, and not among those of the run.
printf 'var x[3] in [0, 4] = [1, 2, 3]\nminimize sum((x - [5, -1, 2])^2) + sum(abs(x))\nsubject to\n  total: sum(x) <= 5\n' >"$work/kept.lt"
run 0 solve "$work/kept.lt" --json; cp "$work/out" "$work/kept.json"
run 0 solve "$work/kept.lt" --quiet --out "$work/kept.npz"
for result in kept.json kept.npz; do
    run 0 solve "$work/kept.lt" --x0 "$work/$result"; says out "multipliers of"
    run 0 solve "$work/kept.lt" --x0 "$work/$result" --json; near final.f 8 1e-7; near iters 0 2
    run 0 solve "$work/kept.lt" --x0 "$work/$result" --set honor_bounds=false --json; near final.f 8 1e-6
done
run 2 solve "$work/rosen.lt" --check-gradients --x0 "$work/r.json"; says err "expected packed variables"
run 2 solve "$work/rosen.lt" --x0 "$work/none.json"; says err "none.json"

# Without a feasible point: what cannot hold together, by name
printf 'var x[2] = 1\nminimize sum(x^2)\nsubject to\n  wide: x[0] + x[1] <= 100\n  low: x[0] + x[1] >= 4\n  x[0] + 0*x[1] <= 1.5\n  up: x[0] + 2*x[1] <= 3\n' >"$work/none.lt"
run 1 solve "$work/none.lt" --report "$work/none.html"; says out "these constraints cannot hold together"; says out "  low  "; says out "  up  "; grep -q wide "$work/out" && fail "$last: wide is named"
grep -q "cannot hold together" "$work/none.html" || fail "$last: the report names no conflict"
run 1 solve "$work/none.lt" --json; is_json "$work/out"; says out '"conflict"'; says out '"weight"'

# Bounds: kept where they are declared, moved starts are said, contradictions named
printf 'var x[2] in [0.1, [0.5, inf]] = 3\nminimize x[0]*log(x[0]) - x[0] + (x[1] + 1)^2\nsubject to\n  side: x[0] + x[1] <= 9\n' >"$work/in.lt"
run 0 solve "$work/in.lt"; says out "1 of 2 variables of the start were outside"; says out "# of bounds, which are kept"; says out "  x[1] "
run 0 solve "$work/in.lt" --json; is_json "$work/out"; near start_moved 1 0; says out '"bound_multipliers"'
run 0 solve "$work/in.lt" --json --set honor_bounds=false; near start_moved 0 0
run 0 solve "$work/rosen.lt" --json --set honor_bounds=true; near best.f 0.0857864376269 1e-9; near problem.p 2 0; near start_moved 2 0
printf 'var x[2] = 1\nminimize sum(x)\nsubject to\n lo: x[1] in [2, 3]\n x[1] in [0, 1]\n' >"$work/gap.lt"
run 2 solve "$work/gap.lt"; says err "gap.lt:5: "; says err "bounds of x, element 1, contradict each other: at least 2 and at most 1"; silent out
printf 'var x[2] in [2, [3, nan]] = 1\nminimize sum(x)\n' >"$work/gap.lt"
run 2 solve "$work/gap.lt"; says err "gap.lt:1:"; says err "not a number"

# Resumed with other options: which, and what they were
run 0 solve "$work/rosen.lt" --quiet --checkpoint "$work/o.ckpt" --set max_iterations=3
run 0 solve "$work/rosen.lt" --resume "$work/o.ckpt" --set max_iterations=9; says out "max_iterations: 9, was 3"
run 0 solve "$work/rosen.lt" --resume "$work/o.ckpt" --set max_iterations=9 --json; is_json "$work/out"; says out '"was": "3"'; says out '"now": "9"'
run 2 solve "$work/rosen.lt" --resume "$work/o.ckpt" --set lbfgs_pairs=4; says err "made with lbfgs_pairs 0, this run has 4"; silent out

# Ctrl-C: the table's end, a checkpoint, status 130; the record in JSON
"$lathe" solve example:A2full --checkpoint "$work/stop.ckpt" >"$work/out" 2>"$work/err" & pid=$!
n=0; while [ "$(wc -l <"$work/out")" -lt 14 ] && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1; done
kill -INT $pid; wait $pid && got=0 || got=$?
last="interrupted solve"
[ $got -eq 130 ] || fail "$last: status $got"
says out "Termination code:        3"; says err "interrupted"; [ -s "$work/stop.ckpt" ] || fail "$last: no checkpoint"
run 0 solve example:A2full --resume "$work/stop.ckpt" --json --set max_seconds=0.001; near termination_code 5 0

# The benchmark: runs by name or family, every field a program needs, mistakes named
bench 0 solve --quick --only A1 --json; is_json "$work/out"; silent err
for name in A1a A1b A1c A1d A1e A1f; do says out "\"name\": \"$name\""; done
for key in seconds first_seconds own_microseconds_per_iteration share_qp loop_allocations published_ratio required_ratio verdict; do says out "\"$key\""; done
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import json, sys; rows = json.load(open(sys.argv[1]))["rows"]; sys.exit(any(not r["accepted"] or r["loop_allocations"] for r in rows))' \
        "$work/out" || fail "$last: a run of A1 ends elsewhere or allocates"
fi
printf '{"peer": "Other 1.0", "rows": [{"name": "B1", "seconds": 1000}]}' >"$work/peer.json"
bench 0 solve --quick --only B1 --peer "$work/peer.json" --report "$work/bench.html" --quiet; says out "Other 1.0"; says out "B1"
grep -q "</html>" "$work/bench.html" || fail "the benchmark's report is not whole"
printf '{"peer": "Other 1.0", "rows": [{"name": "C1", "seconds": 1000, "f": 0.3337495}, {"name": "A1f", "seconds": 1000, "f": 0.05}]}' >"$work/lower.json"
bench 0 solve --only C1 --only A1f --peer "$work/lower.json"; says out "x to its f"; says out "its f not reached"
bench 0 solve --quick --ablate --only A1a --json; is_json "$work/out"; says out "gradients on demand"; says out '"gain_per_iteration"'
bench 2 solve --only C9; says err "no such run"
printf '{"peer": "Other 1.0", "rows": [{"name": "B1", "seconds": 1, "f": [0, 1, 2], "violation": [0, 0, 5]}]}' > "$work/ends.json"
bench 0 solve --starts 3 --only B1 --peer "$work/ends.json" --report "$work/ends.html"; says out "Other 1.0"; says out "1 infeasible"; says out "83 %"; says out ", met"
bench 0 solve --starts 3 --only A1a --set stationarity_tol=1e-6 --json; is_json "$work/out"; says out '"upper_quartile"'
bench 2 solve --starts 3 --only C3; says err "a start of its own"
bench 2 solve --starts 101; says err "starts"
bench 2 solve --ablate --set stationarity_tol=1e-6; says err "leave --ablate out"
bench 0 solve --quick --only A1a --set patience=2 --json; is_json "$work/out"; says out "patience=2"
bench 2 solve --starts 2 --ablate; says err "--ablate"
bench 2 solve --ablate --only A1b; says err "--ablate"
bench 2 solve --only B1 --peer "$work/none.json"; says err "none.json"

# Devices: auto says what it took, null counts copies and waits, what a device cannot do is refused.
run 0 solve "$work/rosen.lt"; says out "device: cpu (auto: an evaluation takes the CPU about"
run 0 solve "$work/rosen.lt" --device cpu --json; says out '"device": "cpu"'; says out '"device_reason": "asked for"'
run 0 solve "$work/rosen.lt" --set device_name=null; says out "device: null (asked for)"
run 0 solve "$work/rosen.lt" --device null; says out "16 B there in 1.00 copies"; says out "1.00 waits; page-locked memory, 100 % replayed"
run 0 solve "$work/rosen.lt" --device null --json; is_json "$work/out"; near transfers.evaluation.syncs 1 0; near transfers.evaluation.bytes_up 16 0
run 0 solve "$work/rosen.lt" --device null --eval "$work/x.npy" --json; near f 0 0
run 2 solve "$work/rosen.lt" --device null --check-gradients; says err "--device"
run 2 solve "$work/rosen.lt" --device tpu; says err "no device 'tpu'"
run 0 explain code 14; says out "device failed"
bench 0 solve --quick --device null --only A1a --json; is_json "$work/out"; says out '"waits_per_evaluation"'
bench 0 solve --quick --device null --ablate --only C1; says out "constraint gradients in one pass"
bench 2 solve --quick --device null --only B1; says err "no row"
bench 2 solve --quick --only B2wide; says err "--device"
bench 2 solve --quick --device null --only A1a --peer "$work/peer.json"; says err "--peer"
run 2 solve example:A1 --devices cuda:0,cuda:1; says err "share the runs of --starts or --sweep"
run 2 solve example:A1 --starts 3 --devices cpu,cpu; says err "named twice"
run 2 solve example:A1 --starts 3 --devices cpu,null --device cpu; says err "both say where"
finish
