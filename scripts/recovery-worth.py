#!/usr/bin/env python3
"""What each switch of recovery is worth: every problem of the literature set and the collections at defaults, with one switch off at a time.

    scripts/recovery-worth.py [--lathe build/bin/lathe] [--folder tests/optimize/literature …] [--options] [--jobs N] [--only REGEX]

Prints the table of docs/guide-optimize.md. Options that stand in the problem files are left out unless --options is given, so that
the figures are those of a problem nobody tuned for. SPDX-License-Identifier: BSD-3-Clause"""
import argparse, collections, concurrent.futures, json, math, pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VARIANTS = [
    ("all of it", []),
    ("`recover_mu=false`", ["recover_mu=false"]),
    ("`recover_samples=false`", ["recover_samples=false"]),
    ("`recover_H=false`", ["recover_H=false"]),
    ("`recover_scales=false`", ["recover_scales=false"]),
    ("`recover_start=0`", ["recover_start=0"]),
    ("`recoveries=0`", ["recoveries=0"]),
    ("`kkt_tol=1e-4`", ["kkt_tol=1e-4"]),
    ("`patience=0`", ["patience=0"]),
    ("`lagrangian_updates=false`", ["lagrangian_updates=false"]),
    ("`correct_steps=false`", ["correct_steps=false"]),
    ("`steering_halvings=0`", ["steering_halvings=0"]),
    ("`honor_bounds=false`", ["honor_bounds=false"]),
    ("`scale_functions=false`", ["scale_functions=false"]),
    ("`scale_variables=false`", ["scale_variables=false"]),
    ("`bfgs_damping=1e-4`", ["bfgs_damping=1e-4"]),
    ("none of these: as first published", ["recoveries=0", "kkt_tol=inf", "patience=0", "lagrangian_updates=false", "steering_halvings=0", "honor_bounds=false", "scale_functions=false", "scale_variables=false", "bfgs_damping=1e-4"]),
]


def expected(text):
    found = re.search(r"^# expect f = (\S+)", text, re.M)
    return float(found.group(1)) if found else None


def solve(lathe, path, settings):
    """The JSON record of a run; None when there is none."""
    command = [lathe, "solve", str(path), "--json"] + [part for s in settings for part in ("--set", s)]
    try:
        return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=120).stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None


def measure(lathe, problems, settings, jobs):
    row = collections.Counter()
    codes = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        records = list(pool.map(lambda problem: solve(lathe, problem[0], settings), problems))
    for (path, want), record in zip(problems, records):
        best = record and record.get("best")
        error = abs(best["f"] - want) / max(1, abs(want)) if best else math.inf
        row["1e-4"] += error <= 1e-4
        row["1e-6"] += error <= 1e-6
        codes[record["termination_code"] if record else "none"] += 1
        if record:
            residual = record["certificate"]["residual"]
            row["wrong"] += record["termination_code"] == 0 and not (residual is not None and residual <= 1e-4)
            row["iterations"] += record["iters"]
            row["evaluations"] += record["fn_evals"]
    return row, codes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lathe", default=str(ROOT / "build/bin/lathe"))
    parser.add_argument("--folder", nargs="+", default=[str(ROOT / "tests/optimize/literature"), str(ROOT / "tests/optimize/collections")])
    parser.add_argument("--options", action="store_true", help="keep the options of the files")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once: counts do not depend on it")
    parser.add_argument("--only", default="", help="problems whose name matches")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        problems = []
        for source in sorted(path for folder in args.folder for path in pathlib.Path(folder).rglob("*.lt")):
            text = source.read_text()
            if expected(text) is None or not re.search(args.only, source.stem) or "load(" in text or "csv(" in text:
                continue
            copy = pathlib.Path(scratch) / source.name
            copy.write_text(text if args.options else re.sub(r"^option.*$", "", text, flags=re.M))
            problems.append((copy, expected(text)))
        if not problems:
            sys.exit(f"no problems in {', '.join(args.folder)}")
        print(f"{len(problems)} problems\n")
        print("| options | within 1e-4 | within 1e-6 | code 0 with a residual above 1e-4 | iterations | evaluations | codes |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for name, settings in VARIANTS:
            row, codes = measure(args.lathe, problems, settings, args.jobs)
            shown = ", ".join(f"{c}: {n}" for c, n in sorted(codes.items(), key=str))
            print(f"| {name} | {row['1e-4']} | {row['1e-6']} | {row['wrong']} | {row['iterations']} | {row['evaluations']} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
