"""The runs of `lathe bench solve` in PyGRANSO; prints the JSON that --peer takes.

    pip install pygranso osqp torch numpy
    python3 bench/peers/pygranso.py [--quick] [NAME...] > pygranso.json
    lathe bench solve --peer pygranso.json

Written against PyGRANSO's documented interface: pygranso(var_spec=, combined_fn=, user_opts=). Where it
is not installed this says so on standard error and exits with 1. Data follow the same recipes as the
built-in examples; a run's time is that of the whole call, best of three (one with --quick).
SPDX-License-Identifier: BSD-3-Clause
"""
import json
import math
import os
import platform
import sys
import time

# This file has the package's name: its own folder must not be searched for it.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != HERE]

try:
    import numpy as np
    import torch
    from pygranso.pygranso import pygranso
    from pygranso.pygransoStruct import pygransoStruct
except ImportError as error:
    sys.exit(f"pygranso.py: PyGRANSO is not installed ({error}); its rows are left out")

QUICK = "--quick" in sys.argv[1:]
NAMES = [a for a in sys.argv[1:] if not a.startswith("--")]
DOUBLE = torch.double


def options(x0, **changes):
    o = pygransoStruct()
    o.torch_device = torch.device("cpu")
    o.print_level = 0
    o.quadprog_info_msg = False
    o.x0 = torch.as_tensor(np.asarray(x0), dtype=DOUBLE).reshape(-1, 1)
    for name, value in changes.items():
        setattr(o, name, value)
    return o


def column(**tensors):
    s = pygransoStruct()
    for name, value in tensors.items():
        setattr(s, name, value)
    return s


def rosenbrock():
    def fn(X):
        x1, x2 = X.x1, X.x2
        f = 8 * abs(x1**2 - x2) + (1 - x1) ** 2
        return [f, column(c1=math.sqrt(2) * x1 - 1, c2=2 * x2 - 1), None]

    return {"x1": [1], "x2": [1]}, fn, options([1, 1])


def feasibility():
    def fn(X):
        x, y = X.x, X.y
        ci = column(c1=(y + x**2) ** 2 + 0.1 * y**2 - 1, c2=y - torch.exp(-x) - 3, c3=y - x + 4)
        return [0 * x, ci, None]

    return {"x": [1], "y": [1]}, fn, options([0, 0])


def sphere():
    torch.manual_seed(0)
    r = torch.randn(300, 300).to(DOUBLE)
    a = (r + r.T) / 2
    x0 = torch.randn(300, 1).to(DOUBLE)

    def fn(X):
        x = X.x
        return [-(x.T @ a @ x), None, column(c1=x.T @ x - 1)]

    return {"x": [300, 1]}, fn, options(x0, mu0=0.1, opt_tol=1e-6)


def trace(d, **changes):
    torch.manual_seed(0)
    r = torch.randn(5, 5).to(DOUBLE)
    a = (r + r.T) / 2
    x0 = torch.randn(5 * d, 1).to(DOUBLE)
    eye = torch.eye(d, dtype=DOUBLE)

    def fn(X):
        v = X.V
        return [-torch.trace(v.T @ a @ v), None, column(c1=v.T @ v - eye)]

    return {"V": [5, d]}, fn, options(x0, **changes)


def robust_pca():
    torch.manual_seed(1)
    y = torch.randn(3, 4).to(DOUBLE)

    def fn(X):
        f = torch.norm(X.M, p="nuc") + 0.05 * torch.norm(X.S, p=1)
        return [f, None, column(c1=X.M + X.S - y)]

    return {"M": [3, 4], "S": [3, 4]}, fn, options(0.2 * np.ones(24), opt_tol=1e-6)


def total_variation():
    torch.manual_seed(1)
    b = torch.rand(80, 1).to(DOUBLE)

    def fn(X):
        x = X.x
        return [(x - b).T @ (x - b) + 0.5 * torch.norm(x[1:] - x[:-1], p=1), None, None]

    return {"x": [80, 1]}, fn, options(np.ones(80))


def dictionary():
    from statistics import NormalDist  # the inverse normal CDF of the recipe

    quantile = np.vectorize(NormalDist().inv_cdf)
    rng = np.random.RandomState(1)
    y = quantile(rng.random_sample(270000)) * (quantile(rng.random_sample(270000)) <= 0.3)
    y = torch.from_numpy(y.reshape(30, 9000))
    x0 = quantile(np.random.RandomState(1).random_sample(30))
    x0 /= np.linalg.norm(x0)

    def fn(X):
        q = X.q
        return [torch.norm(q.T @ y, p=1) / 9000, None, column(c1=q.T @ q - 1)]

    return {"q": [30, 1]}, fn, options(x0, maxit=500)


ROWS = {
    "A1": rosenbrock, "B1": feasibility, "B2": sphere, "B3": lambda: trace(1, maxit=3000),
    "B3d2": lambda: trace(2, opt_tol=5e-6), "C1": robust_pca, "C2": total_variation, "A3": dictionary,
}


def main():
    threads = os.environ.get("LATHE_THREADS")
    if threads:
        torch.set_num_threads(int(threads))
    rows = []
    for name, make in ROWS.items():
        if NAMES and name not in NAMES:
            continue
        best, solution = math.inf, None
        for _ in range(1 if QUICK else 3):
            var_spec, fn, opts = make()
            start = time.perf_counter()
            solution = pygranso(var_spec=var_spec, combined_fn=fn, user_opts=opts)
            best = min(best, time.perf_counter() - start)
        rows.append({"name": name, "seconds": best, "iters": int(solution.iters), "fn_evals": int(solution.fn_evals),
                     "f": float(solution.final.f), "termination_code": int(solution.termination_code)})
        print(f"{name}: {best:.3g} s, {rows[-1]['iters']} iterations, f {rows[-1]['f']:.10g}", file=sys.stderr)
    json.dump({"peer": "PyGRANSO", "quick": QUICK, "threads": torch.get_num_threads(),
               "machine": platform.processor() or platform.machine(), "rows": rows}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
