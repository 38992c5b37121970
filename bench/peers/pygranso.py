"""The rows of `lathe-bench solve` run in PyGRANSO; prints the JSON that --peer takes.

    python3 bench/peers/pygranso.py [--quick] [--long] [--only NAME]... [--starts N] > pygranso.json
    lathe-bench solve --peer pygranso.json [--starts N]

Written against PyGRANSO's documented interface (https://ncvx.org): pygranso(var_spec=, combined_fn=, user_opts=).
PyGRANSO 1.2.0 of PyPI needs NumPy below 2, osqp and gurobipy beside PyTorch. Where it cannot be imported, that is said on
standard error and the list of rows is empty; a row that fails is named there and left out. --long adds the runs of minutes.

Data are drawn with torch's generator, whose numbers the built-in examples reproduce: both solve the same problems.
A time is that of the call of pygranso() with printing off, the median of up to five.

--starts N solves each problem from N starts instead: its own, and others that differ from it by about one part in 10^9. Where
the rounding decides the late iterations, one end says little; the ends of all of them say where a run ends. The starts are
those of `lathe-bench solve --starts N`, number by number. The time is then the processor's, per run.
SPDX-License-Identifier: BSD-3-Clause
"""
import json
import math
import os
import platform
import statistics
import sys
import time

# This file has the package's name: its own folder must not be searched for it.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]

MISSING = None
try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from pygranso.pygranso import pygranso
    from pygranso.pygransoStruct import pygransoStruct
except Exception as error:  # an old package on new libraries fails in its own ways
    MISSING = f"{type(error).__name__}: {error}"

QUICK = "--quick" in sys.argv[1:]
LONG = "--long" in sys.argv[1:]
ONLY = [sys.argv[i + 1] for i in range(1, len(sys.argv) - 1) if sys.argv[i] == "--only"]
BUDGET = 2.0 if QUICK else 20.0
STARTS = next((int(sys.argv[i + 1]) for i in range(1, len(sys.argv) - 1) if sys.argv[i] == "--starts"), 0)


def options(x0, **more):
    o = pygransoStruct()
    o.torch_device = torch.device("cpu")
    o.print_level = 0
    o.quadprog_info_msg = False
    o.x0 = x0.reshape(-1, 1).double()
    for name, value in more.items():
        setattr(o, name, value)
    return o


def constraints(**named):
    c = pygransoStruct()
    for name, value in named.items():
        setattr(c, name, value)
    return c


# ---- The problems: each gives variables, function and options ---------------------------------------


def rosenbrock(x0, **more):
    def function(v):
        f = 8 * torch.abs(v.x1 ** 2 - v.x2) + (1 - v.x1) ** 2
        return [f, constraints(c1=math.sqrt(2) * v.x1 - 1, c2=2 * v.x2 - 1), None]

    return {"x1": [1], "x2": [1]}, function, options(x0, **more)


def distant(**more):
    return rosenbrock(torch.tensor([5.5, 5.5]), mu0=100, maxit=10, **more)


def restart(first, **more):
    end = solve(*first)
    state = "limited_mem_warm_start" if "limited_mem_size" in more else "H0"
    return rosenbrock(end.final.x, mu0=end.final.mu, scaleH0=False, maxit=100, **{state: end.H_final}, **more)


def random_start():
    torch.manual_seed(0)
    return rosenbrock(torch.randn(2), opt_tol=1e-6, maxit=100, halt_log_fn=lambda *arguments: False)


def eigenvalues(n, rows, columns, maxit):
    torch.manual_seed(0)
    a = torch.randn(n, n).double() - 0.88 * math.sqrt(n) * torch.eye(n).double()
    b, c = torch.randn(n, rows).double(), torch.randn(columns, n).double()

    def function(v):
        values = torch.linalg.eigvals(a + b @ v.X @ c)
        return [torch.max(values.imag), constraints(c1=torch.max(values.real) + 1), None]

    return {"X": [rows, columns]}, function, options(torch.zeros(rows * columns), maxit=maxit)


def dictionary():
    quantile = np.vectorize(statistics.NormalDist().inv_cdf)  # the inverse normal CDF of the recipe

    def normals(generator, count):
        return torch.from_numpy(quantile(generator.random_sample(count)))

    generator, m = np.random.RandomState(1), 9000
    value, draw = normals(generator, 30 * m), normals(generator, 30 * m)
    y = (value * (draw <= 0.3)).reshape(30, m)
    start = normals(np.random.RandomState(1), 30)

    def function(v):
        return [torch.norm(v.q.T @ y, p=1) / m, None, constraints(c1=v.q.T @ v.q - 1)]

    return {"q": [30, 1]}, function, options(start / torch.norm(start), maxit=20 if QUICK else 500)


def feasibility():
    def function(v):
        x, y = v.x, v.y
        return [0 * x, constraints(c1=(y + x ** 2) ** 2 + 0.1 * y ** 2 - 1, c2=y - torch.exp(-x) - 3, c3=y - x + 4), None]

    return {"x": [1], "y": [1]}, function, options(torch.zeros(2))


def symmetric(n):
    r = torch.randn(n, n).double()
    return (r + r.T) / 2


def sphere():
    torch.manual_seed(0)
    a = symmetric(300)
    start = torch.randn(300)

    def function(v):
        return [-v.x.T @ a @ v.x, None, constraints(c1=v.x.T @ v.x - 1)]

    return {"x": [300, 1]}, function, options(start, mu0=0.1, opt_tol=1e-6)


def trace(d, **more):
    torch.manual_seed(0)
    a = symmetric(5)
    start = torch.randn(5, d)
    eye = torch.eye(d).double()

    def function(v):
        return [-torch.trace(v.V.T @ a @ v.V), None, constraints(c1=v.V.T @ v.V - eye)]

    return {"V": [5, d]}, function, options(start, **more)


def components():
    torch.manual_seed(1)
    y = torch.randn(3, 4).double()

    def function(v):
        f = torch.linalg.matrix_norm(v.M, "nuc") + 0.05 * torch.norm(v.S, p=1)
        return [f, None, constraints(c1=v.M + v.S - y)]

    return {"M": [3, 4], "S": [3, 4]}, function, options(0.2 * torch.ones(24), opt_tol=1e-6)


def denoising():
    torch.manual_seed(1)
    b = torch.rand(80, 1).double()

    def function(v):
        return [torch.sum((v.x - b) ** 2) + 0.5 * torch.sum(torch.abs(v.x[1:] - v.x[:-1])), None, None]

    return {"x": [80, 1]}, function, options(torch.ones(80), **({"maxit": 30} if QUICK else {}))


def logistic():
    path = os.path.join(HERE, "..", "..", "examples", "problems", "data", "iris100.csv")
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line[0].isdigit()]
    table = torch.tensor([[float(t) for t in line.split(",")] for line in lines], dtype=torch.double)
    x, y = table[:, :4] / 7.0, table[:, 4:5]

    def problem(k):
        c = 2 * 7 / 139.9 * 10 ** (7 * k / 15)

        def function(v):
            return [torch.sum(torch.log(1 + torch.exp(-y * (x @ v.w)))) + torch.norm(v.w, p=1) / c, None, None]

        return {"w": [4, 1]}, function, options(torch.zeros(4), maxit=50, opt_tol=1e-6)

    return [problem(k) for k in range(16)]


def templates(n, shape):
    label = torch.arange(n) % 10
    template = torch.randn(10, *shape).double()
    return template[label] + 0.5 * torch.randn(n, *shape).double(), label


def uniform(shape, inputs):
    return (2 * torch.rand(*shape).double() - 1) / math.sqrt(inputs)


def network(widths, n):
    """Two convolutions and three linear layers; LeNet has 6, 16, 120, 84 and 62006 variables."""
    c1, c2, h1, h2 = widths
    torch.manual_seed(0)
    image, label = templates(n, (3, 32, 32))
    shapes = {"K1": [c1, 3, 5, 5], "k1": [c1], "K2": [c2, c1, 5, 5], "k2": [c2], "W3": [h1, 25 * c2], "w3": [h1],
              "W4": [h2, h1], "w4": [h2], "W5": [10, h2], "w5": [10]}
    inputs = [75, 75, 25 * c1, 25 * c1, 25 * c2, 25 * c2, h1, h1, h2, h2]
    start = torch.cat([uniform(s, i).reshape(-1) for s, i in zip(shapes.values(), inputs)])

    def function(v):
        a = F.max_pool2d(F.relu(F.conv2d(image, v.K1, v.k1)), 2)
        a = F.max_pool2d(F.relu(F.conv2d(a, v.K2, v.k2)), 2).reshape(n, 25 * c2)
        a = F.relu(F.linear(F.relu(F.linear(a, v.W3, v.w3)), v.W4, v.w4))
        return [F.cross_entropy(F.linear(a, v.W5, v.w5), label), None, None]

    return shapes, function, options(start, opt_tol=1e-3, limited_mem_size=100, **({"maxit": 2} if QUICK else {}))


def attack():
    torch.manual_seed(0)
    image = torch.rand(1, 3, 16, 16).double()
    a1 = torch.randn(8, 3, 3, 3).double() * math.sqrt(2 / 27)
    a2 = torch.randn(8, 8, 3, 3).double() * math.sqrt(2 / 72)
    a3 = torch.randn(16, 8, 3, 3).double() * math.sqrt(2 / 72)
    last = torch.randn(10, 16).double()
    b1 = torch.randn(8, 3, 3, 3).double() * math.sqrt(2 / 27)
    b2 = torch.randn(12, 8, 3, 3).double() * math.sqrt(2 / 72)

    def normalise(x):
        zero, one = torch.zeros(x.shape[1]).double(), torch.ones(x.shape[1]).double()
        return F.batch_norm(x, zero, one, one, zero)

    def scores(x):
        x = F.max_pool2d(F.relu(normalise(F.conv2d(x, a1, padding=1))), 3, stride=2, padding=1)
        x = F.relu(x + normalise(F.conv2d(x, a2, padding=1)))
        x = F.relu(normalise(F.conv2d(x, a3, stride=2, padding=1)))
        return (x.mean(dim=(2, 3)) @ last.T).reshape(10)

    def unit(a):
        length = torch.norm(a, dim=1, keepdim=True) + 1e-10
        return (a / length).reshape(-1) / math.sqrt(a.shape[2] * a.shape[3])

    def features(x):
        first = F.max_pool2d(F.relu(F.conv2d(x, b1, padding=1)), 2)
        return torch.cat([unit(first), unit(F.max_pool2d(F.relu(F.conv2d(first, b2, padding=1)), 2))])

    label, aim = int(torch.argmax(scores(image))), features(image)

    def function(v):
        z = scores(v.x)
        other = torch.max(torch.where(torch.arange(10) == label, -1e30, z))
        f = -torch.clamp(other - z[label], max=1)
        return [f, constraints(c1=torch.norm(features(v.x) - aim) - 0.5), None]

    return {"x": [1, 3, 16, 16]}, function, options(image, maxit=100, opt_tol=1e-6)


def recurrent(folded):
    torch.manual_seed(0)
    n = 100
    sequence, label = templates(n, (28, 28))
    shapes = {"V": [30, 28], "W": [30, 30], "b": [30], "c": [30], "U": [10, 30], "u": [10]}
    start = torch.cat([uniform(s, 30).reshape(-1) for s in shapes.values()])
    eye = torch.eye(30).double()

    def function(v):
        h = torch.zeros(n, 30).double()
        for t in range(28):
            h = torch.tanh(sequence[:, t] @ v.V.T + v.b + h @ v.W.T + v.c)
        gap = v.W.T @ v.W - eye
        gap = torch.norm(gap) if folded else gap
        return [F.cross_entropy(F.linear(h, v.U, v.u), label), None, constraints(c1=gap)]

    return shapes, function, options(start, opt_tol=1e-3, viol_eq_tol=1e-4, maxit=1000)


ROWS = [
    ("A1a", lambda: rosenbrock(torch.ones(2))),
    ("A1b", distant),
    ("A1c", lambda: restart(distant(), opt_tol=1e-6)),
    ("A1d", random_start),
    ("A1e", lambda: distant(limited_mem_size=1)),
    ("A1f", lambda: restart(distant(limited_mem_size=1), limited_mem_size=1, limited_mem_fixed_scaling=False)),
    ("A2", lambda: eigenvalues(40, 4, 5, 20 if QUICK else 200)),
    ("A3", dictionary), ("B1", feasibility), ("B2", sphere),
    ("B3", lambda: trace(1, maxit=3000)), ("B3d2", lambda: trace(2, opt_tol=5e-6, maxit=1000)),
    ("C1", components), ("C2", denoising), ("C3", logistic), ("D2v", attack),
]
LONG_ROWS = [  # twenty iterations of A2full show the time of an evaluation
    ("A2full", lambda: eigenvalues(200, 10, 20, 20)), ("D1v", lambda: network((2, 4, 30, 21), 64)),
    ("D1v128", lambda: network((6, 16, 120, 84), 128)), ("D3v", lambda: recurrent(True)), ("D3vfull", lambda: recurrent(False)),
]


# ---- Measuring ----------------------------------------------------------------------------------------


def solve(variables, function, o):
    return pygranso(var_spec=variables, combined_fn=function, user_opts=o)


def scalar(value):
    return float(value.item() if hasattr(value, "item") else value)


def measure(name, make):
    problems = make()
    problems = problems if isinstance(problems, list) else [problems]
    seconds, ends, begin = [], [], time.perf_counter()
    while len(seconds) < 5 and (not seconds or time.perf_counter() - begin + seconds[-1] < BUDGET):
        start = time.perf_counter()
        ends = [solve(*p) for p in problems]
        seconds.append(time.perf_counter() - start)
    evals = sum(int(e.fn_evals) for e in ends)
    best = getattr(ends[-1], "best", None)
    row = {"name": name, "seconds": statistics.median(seconds), "samples": len(seconds), "iterations": sum(int(e.iters) for e in ends),
           "evaluations": evals, "code": max(int(e.termination_code) for e in ends),
           "f": scalar(best.f if best is not None else ends[-1].final.f), "final_f": scalar(ends[-1].final.f),
           "final_violation": scalar(getattr(ends[-1].final, "tv", 0.0))}
    if name == "A2full":  # given per evaluation, as `lathe-bench solve` does
        row["run_seconds"] = row["seconds"]
        row["seconds"] /= evals
    return row


def move_start(o, number):
    """Start 0 is the problem's own. Others: x0 + 1e-9 max(1, |x0|) z, with z in [-1, 1) of one SplitMix64 step per entry."""
    if number == 0:
        return
    with np.errstate(over="ignore"):
        z = (np.uint64(number) << np.uint64(32)) + np.arange(o.x0.numel(), dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    z = torch.from_numpy(2 * ((z >> np.uint64(11)).astype(np.float64) * 2.0 ** -53) - 1).reshape(-1, 1)
    o.x0 = o.x0 + 1e-9 * torch.clamp(torch.abs(o.x0), min=1) * z


def measure_starts(name, make):
    row = {"name": name, "f": [], "final_f": [], "violation": [], "stationarity": [], "codes": [], "iterations": [], "evaluations": []}
    spent = 0
    for number in range(STARTS):
        problems = make()
        if isinstance(problems, list):
            raise ValueError("several problems in one row: --starts is for single ones")
        move_start(problems[2], number)
        begin = time.process_time()
        end = solve(*problems)
        spent += time.process_time() - begin
        point = getattr(end, "best", None) or end.final
        for key, value in (("f", point.f), ("final_f", end.final.f), ("violation", getattr(point, "tv", 0.0)), ("stationarity", end.stat_value)):
            row[key].append(scalar(value))
        for key, value in (("codes", end.termination_code), ("iterations", end.iters), ("evaluations", end.fn_evals)):
            row[key].append(int(value))
        print(f"{name}, start {number}: code {row['codes'][-1]}, {row['iterations'][-1]} iterations, f {row['f'][-1]:.10g}", file=sys.stderr)
    row["seconds"] = spent / STARTS
    return row


def measure_all():
    rows = []
    for name, make in ROWS + LONG_ROWS:
        if name not in ONLY if ONLY else not LONG and (name, make) in LONG_ROWS:
            continue
        try:
            row = measure_starts(name, make) if STARTS else measure(name, make)
        except Exception as error:
            print(f"{name}: left out: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        rows.append(row)
        if STARTS:
            continue
        print(f"{name}: {row['seconds']:.4g} s, {row['iterations']} iterations, {row['evaluations']} evaluations, "
              f"code {row['code']}, f {row['f']:.10g}", file=sys.stderr)
    return rows


def report(rows, peer, threads):
    json.dump({"peer": peer, "quick": QUICK, "threads": threads, "machine": platform.processor() or platform.machine(),
               "command_line": " ".join(["python3 bench/peers/pygranso.py"] + sys.argv[1:]), "rows": rows}, sys.stdout, indent=2)
    print()


def main():
    if MISSING:
        print(f"pygranso.py: PyGRANSO cannot be used here ({MISSING}); its rows are left out", file=sys.stderr)
        return report([], "PyGRANSO", 0)
    from importlib.metadata import version
    threads = os.environ.get("LATHE_THREADS")
    if threads:
        torch.set_num_threads(int(threads))
    keep = os.dup(1)  # OSQP's own messages go to descriptor 1, which is for the JSON
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    rows = measure_all()
    os.dup2(keep, 1)
    return report(rows, f"PyGRANSO {version('pygranso')}, OSQP {version('osqp')}", torch.get_num_threads())


if __name__ == "__main__":
    main()
