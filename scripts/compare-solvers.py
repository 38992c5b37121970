#!/usr/bin/env python3
"""Compares lathe with SciPy's SLSQP and trust-constr and with Ipopt on every problem of tests/optimize/literature and tests/optimize/collections.

    scripts/compare-solvers.py [--build BUILD] [--limit SECONDS] [--only PATTERN]
        runs all solvers at their defaults, writes bench/results/solvers.json, docs/compare-solvers.md and pictures
    scripts/compare-solvers.py verify [--build BUILD] [--only PATTERN]
        whether solvers other than lathe reach the optima that the files state; exit status 1 and names if not
    scripts/compare-solvers.py lathe [--build BUILD]
        runs lathe alone again, on the problems of the JSON; what the others did stays, with the commit it was measured at
    scripts/compare-solvers.py page
        writes page and pictures again from the JSON

Needs NumPy and SciPy; Matplotlib for pictures; Ipopt from the wheel of CasADi, the system, or LATHE_IPOPT. SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import fnmatch
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.optimize

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from solvers import bounded, ipopt, profiles  # noqa: E402
from solvers.problem import Problem, expectation, library  # noqa: E402

LARGEST_SLSQP = 400  # SLSQP's quadratic programs take minutes beyond
FOLDERS = ("literature", "collections/hs", "collections/nonsmooth", "collections/scalable", "collections/smooth", "heldout")


def files(only, folders=FOLDERS):
    for folder in folders:
        for path in sorted((ROOT / "tests/optimize" / folder).glob("*.lt")):
            if fnmatch.fnmatch(path.stem, only):
                group = "hs" if path.stem.startswith("hs") and path.stem[2:].isdigit() else folder.split("/")[-1]
                yield group, path


def scipy_parts(p, wide):
    """Constraints for SLSQP (wide false) or trust-constr."""
    parts = []
    if wide:
        if len(p.general):
            parts.append(scipy.optimize.NonlinearConstraint(lambda x: p.at(x)[3][p.general], -np.inf, 0, jac=lambda x: p.at(x)[4][p.general]))
        if p.q:
            parts.append(scipy.optimize.NonlinearConstraint(lambda x: p.at(x)[5], 0, 0, jac=lambda x: p.at(x)[6]))
    else:
        if len(p.general):
            parts.append({"type": "ineq", "fun": lambda x: -p.at(x)[3][p.general], "jac": lambda x: -p.at(x)[4][p.general]})
        if p.q:
            parts.append({"type": "eq", "fun": lambda x: p.at(x)[5], "jac": lambda x: p.at(x)[6]})
    return parts


def scipy_solve(p, method, x0=None, options=None):
    seen = {"x": p.x0 if x0 is None else x0}

    def value(x):
        seen["x"] = np.array(x)
        return p.at(x)[1]
    bounds = scipy.optimize.Bounds(p.low, p.high) if np.isfinite([p.low, p.high]).any() else None
    try:
        start = np.clip(seen["x"], p.low, p.high)
        return scipy.optimize.minimize(value, start, jac=lambda x: p.at(x)[2], method=method, bounds=bounds, constraints=scipy_parts(p, method == "trust-constr"),
                                       options=options or {}).x
    except (TimeoutError, ValueError, np.linalg.LinAlgError, ZeroDivisionError):
        return seen["x"]


def lathe_solve(build, text, name):
    """Seconds inside lt_solve, seconds of the whole process (start, reading and compiling included), x, code."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.lt"
        path.write_text(text)
        began = time.perf_counter()
        run = subprocess.run([f"{build}/bin/lathe", "solve", str(path), "--json", "--quiet", "--device", "cpu"], capture_output=True, text=True, timeout=120)
        whole = time.perf_counter() - began
    answer = json.loads(run.stdout)
    if "best" not in answer or "x" not in (answer["best"] or {}):
        point = (answer.get("most_feasible") or answer.get("final") or {}).get("x")
        return answer.get("time_total", whole), whole, point, answer.get("termination_code"), answer.get("fn_evals")
    return answer["time_total"], whole, answer["best"]["x"], answer["termination_code"], answer["fn_evals"]


def quietly(call):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return call()


def judge(p, x, optimum):
    if x is None:
        return {"error": None, "violation": None}
    f, violation = p.sense * p.at(np.asarray(x, float))[1], p.violation(np.asarray(x, float))
    error = p.sense * (f - optimum) / max(1.0, abs(optimum))
    finite = bool(np.isfinite(f) and np.isfinite(violation))
    return {"f": f if finite else None, "error": error if finite else None, "violation": violation if finite else None}


def run_all(args):
    lib, ip, kept = library(args.build), ipopt.find(), pathlib.Path(args.rows)
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {row["name"] for row in rows}
    for group, path in files(args.only):
        if path.stem in known:
            continue
        optimum, text = expectation(path.read_text())
        began = time.perf_counter()
        p = Problem(lib, path.stem, text)
        first = time.perf_counter() - began
        row = {"name": path.stem, "group": group, "n": p.n, "p": p.p, "q": p.q, "optimum": optimum, "runs": {}}

        def record(solver, call):
            p.calls, p.last, p.deadline = 0, None, time.perf_counter() + args.limit
            answer, failed, seconds = bounded.run(lambda: (quietly(call), p.calls), args.limit + 0.5)
            p.deadline = np.inf
            x, calls = answer if answer else (None, None)
            row["runs"][solver] = {**judge(p, x, optimum), "seconds": seconds, "seconds_first": seconds + first, "evaluations": calls, **({"failed": failed} if failed else {})}
        inside, whole, x, code, evaluations = lathe_solve(args.build, text, path.stem)
        row["runs"]["lathe"] = {**judge(p, x, optimum), "seconds": inside, "seconds_first": whole, "evaluations": evaluations, "code": code}
        if p.n <= LARGEST_SLSQP:
            record("SLSQP", lambda: scipy_solve(p, "SLSQP"))
        record("trust-constr", lambda: scipy_solve(p, "trust-constr"))
        if ip:
            record("Ipopt", lambda: ipopt.solve(ip, p, args.limit))
        p.close()
        rows.append(row)
        with kept.open("a") as to:
            to.write(json.dumps(row) + "\n")
        print(f"{path.stem:24} " + "  ".join(f"{s} {'-' if r['error'] is None else format(r['error'], '.1e')}" for s, r in row["runs"].items()), flush=True)
    return rows


def renew(args, result):
    """lathe's runs anew, from the files as they are now."""
    lib, where = library(args.build), {path.stem: path for _, path in files("*")}
    for row in result["problems"]:
        optimum, text = expectation(where[row["name"]].read_text())
        p = Problem(lib, row["name"], text)
        inside, whole, x, code, evaluations = lathe_solve(args.build, text, row["name"])
        row["runs"]["lathe"] = {**judge(p, x, optimum), "seconds": inside, "seconds_first": whole, "evaluations": evaluations, "code": code}
        p.close()


def verify(args):
    """The best of SLSQP, trust-constr, Ipopt and, for kinks, Nelder and Mead's simplex, from the printed start and again from what was found."""
    lib, ip, bad = library(args.build), ipopt.find(), []
    for group, path in files(args.only, ("collections/hs", "collections/nonsmooth", "collections/smooth", "heldout")):  # the scalable ones have closed forms
        optimum, text = expectation(path.read_text())
        p = Problem(lib, path.stem, text)
        best, random = np.inf, np.random.default_rng(0)
        wanted = 1e-4 if group in ("nonsmooth", "scalable") else 2e-6
        tries = [lambda x: scipy_solve(p, "SLSQP", x, {"maxiter": 1000, "ftol": 1e-14}), lambda x: ipopt.solve(ip, p, 10) if ip else x,
                 lambda x: scipy_solve(p, "trust-constr", x, {"gtol": 1e-10, "xtol": 1e-12, "maxiter": 2000})]
        if p.n <= 20 and not p.p + p.q:
            tries.append(lambda x: scipy.optimize.minimize(lambda y: p.at(y)[1], x, method="Nelder-Mead", options={"maxiter": 40000, "maxfev": 40000, "xatol": 1e-12, "fatol": 1e-12, "adaptive": True}).x)
        x, lowest = p.x0, np.inf
        for turn in range(4):
            for attempt in tries:
                p.deadline = time.perf_counter() + args.limit
                y, _, _ = bounded.run(lambda: quietly(lambda: attempt(x if turn < 2 else x + 1e-3 * random.normal(size=p.n))), args.limit + 0.5)
                p.deadline = np.inf
                got = judge(p, y, optimum)
                if got["error"] is not None and got["violation"] <= 1e-6:
                    best = got["error"] if abs(got["error"]) < abs(best) else best
                    if got["error"] < lowest:
                        x, lowest = y, got["error"]
            if abs(best) <= wanted:
                break
        if not abs(best) <= wanted:
            bad.append(path.stem)
        print(f"{'yes' if abs(best) <= wanted else 'NO '} {path.stem:24} {best: .1e} lowest {lowest: .1e}", flush=True)
        p.close()
    print(f"not reproduced: {' '.join(bad) or 'none'}")
    return 1 if bad else 0


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    return f"{cpu}, {platform.system()}, Python {platform.python_version()}, SciPy {scipy.__version__}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("run", "verify", "lathe", "page"), default="run")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--limit", type=float, default=5, help="seconds for one run of a peer")
    parser.add_argument("--only", default="*")
    parser.add_argument("--rows", default=str(ROOT / "build/solvers.jsonl"), help="finished problems; a run that was stopped goes on from here")
    args = parser.parse_args()
    if args.what == "verify":
        return verify(args)
    kept = ROOT / "bench/results/solvers.json"
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    if args.what == "run":
        result = {"command": "scripts/compare-solvers.py", "commit": commit, "machine": machine(), "limit_seconds": args.limit, "problems": run_all(args)}
        if args.only == "*":
            kept.write_text(json.dumps(result, indent=1) + "\n")
    else:
        result = json.loads(kept.read_text())
    if args.what == "lathe":
        renew(args, result)
        result["lathe_commit"] = commit
        kept.write_text(json.dumps(result, indent=1) + "\n")
    if args.only == "*":
        profiles.write(result, ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
