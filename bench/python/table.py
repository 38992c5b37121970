"""Costs of the Python package, all in one run: python3 bench/python/table.py [--out bench/results/python.json].

Each figure is the least of several rounds, lathe and what it is compared with by turns; `load` says how busy the machine was. Import of
PyTorch is not counted as capture, and what PyTorch imports when it traces for the first time is its own row. SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import contextlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import lathe
import lathe.console
import numpy as np
from lathe import _core

lathe.console.quiet = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def least(rounds, *calls, clock=time.perf_counter):
    """The least seconds of each call, taken by turns."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            begun = clock()
            call()
            best[i] = min(best[i], clock() - begun)
    return best


def callback():
    """A problem of 10 variables whose functions do nothing to speak of: seconds in evaluations by the solver's clock, less those inside the functions."""
    n, inside = 10, [0.0]
    clock, slope = time.perf_counter, np.full(n, 1e-3)

    def values(x):
        begun = clock()
        made = float(x[0] * 1e-3 + abs(x[1]))
        inside[0] += clock() - begun
        return made

    def gradients(x):
        begun = clock()
        made = slope
        inside[0] += clock() - begun
        return made
    core = _core.Problem.from_functions(n, 0, 0, values, gradients, [("x", (n,))])
    found = []
    for _ in range(200):
        inside[0] = 0.0
        fields, _ = _core.solve(core, {"opt_tol": 0, "maxit": 60}, {"x0": np.ones(n)})
        found.append((fields["time_eval"] - inside[0]) / fields["fn_evals"] * 1e6)
    return {"us_per_evaluation": min(found), "median_us": float(np.median(found)), "must_us": 3, "evaluations_per_run": fields["fn_evals"]}


def function_call():
    """lathe.function on arrays of 8 numbers, beyond the program's own run, which the empty function of the C extension bounds."""
    f, x = lathe.function(lambda a, b: a * b + 1), np.ones(8)
    f(x, x)
    repeat = 1000
    g = _core.Graph()
    a, b = (g.input(n, "float64", (8,)) for n in "ab")
    program = g.compile([g.op("shift", g.op("mul", a, b), 1.0)])

    def by_function():
        for _ in range(repeat):
            f(x, x)

    def by_program():
        for _ in range(repeat):
            program.exact(x, x)

    def nothing():
        for _ in range(repeat):
            pass
    whole, exact, loop = least(30, by_function, by_program, nothing, clock=time.thread_time)  # other work on the machine is no part of it
    return {"us_per_call": (whole - loop) / repeat * 1e6, "of_that_in_the_extension_us": (exact - loop) / repeat * 1e6, "must_us": 2,
            "includes": "the C call itself, so the cost beyond it is less"}


def gram(n=20000):
    """The part of lathe.gram that is not the library's own time, as the library's clock has it."""
    q = 12
    X, kernel = np.random.default_rng(0).uniform(size=(n, q)), lathe.QuantumKernel(np.full((2, q), 0.1), return_dtype="float32", dtype="float32")
    begun = time.perf_counter()
    kernel(X)
    whole = time.perf_counter() - begun
    inside = kernel.info["seconds"]["total"]
    return {"seconds": whole, "in_the_library": inside, "beyond_percent": 100 * (whole - inside) / inside, "must_percent": 1, "n": n, "qubits": q}


def captures():
    """Seconds (of processor time, all threads) of one capture with its check, after PyTorch was imported and has traced once."""
    try:
        import torch
    except ImportError:
        return {"skipped": "PyTorch is not installed"}
    begun = time.process_time()
    lathe.capture.capture(lambda x: (x * x).sum(), [np.ones(2)], [torch.ones(2, dtype=torch.double)])
    made = {"first_trace_of_pytorch": time.process_time() - begun}
    torch.manual_seed(0)
    d = torch.double
    M, big = torch.randn(50, 50, dtype=d), torch.randn(30, 30, dtype=d)
    lenet = torch.nn.Sequential(torch.nn.Conv2d(1, 6, 5, padding=2), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(6, 16, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                                torch.nn.Flatten(), torch.nn.Linear(400, 120), torch.nn.ReLU(), torch.nn.Linear(120, 10)).double()
    images, labels = torch.randn(50, 1, 28, 28, dtype=d), torch.randint(0, 10, (50,))
    rnn = torch.nn.RNN(28, 30, batch_first=True).double()
    rows = torch.randn(50, 28, 28, dtype=d)
    cases = {
        "rosenbrock": (lambda x: 8 * abs(x[0] ** 2 - x[1]) + (1 - x[0]) ** 2, [torch.ones(2, dtype=d)]),
        "eigenvalues": (lambda x: torch.linalg.eigvals(big + x.reshape(30, 30)).real.max(), [torch.randn(900, dtype=d)]),
        "dictionary": (lambda x: torch.norm(M @ x, p=1), [torch.randn(50, 1, dtype=d)]),
        "nuclear norm": (lambda a: torch.norm(a, p="nuc") + torch.norm(M - a, p=1), [torch.randn(50, 50, dtype=d)]),
    }
    for name, (f, arguments) in cases.items():
        made[name] = captured(f, arguments)
    made["lenet"] = captured(*of_module(lenet, lambda m: torch.nn.functional.cross_entropy(m(images), labels)))
    made["rnn"] = captured(*of_module(rnn, lambda m: m(rows)[0][:, -1].pow(2).sum()))
    return {**{k: round(v, 3) for k, v in made.items()}, "must_s": {"each": 1, "lenet": 5, "rnn": 5}}


def captured(f, arguments) -> float:
    """Seconds of processor time, the least of two."""
    return least(2, lambda: lathe.capture.capture(f, [a.detach().numpy() for a in arguments], arguments), clock=time.process_time)[0]


def of_module(module, loss):
    import torch
    names = [n for n, _ in module.named_parameters()]

    class Caller(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self):
            return loss(self.module)
    caller = Caller()
    return (lambda *t: torch.func.functional_call(caller, {f"module.{n}": v for n, v in zip(names, t)}, ())), [p.detach().clone() for p in module.parameters()]


#: The twelve examples, as bench/peers/pygranso.py has them.
EXAMPLES = ("A1a", "A2", "A3", "B1", "B2", "B3", "C1", "C2", "C3", "D1v", "D2v", "D3v")


def scripts():
    """The twelve examples as written for PyGRANSO, through the drop-in: captured, called, and in PyGRANSO where $LATHE_PYGRANSO_PYTHON names a Python
    that has it. One thread each; processor time of whole runs, by turns example by example."""
    try:
        import torch
    except ImportError:
        return {"skipped": "PyTorch is not installed"}
    import lathe.compat
    lathe.compat.install()
    spec = importlib.util.spec_from_file_location("peer_scripts", os.path.join(ROOT, "bench", "peers", "pygranso.py"))
    peer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peer)
    before = torch.get_num_threads(), lathe.get_threads()
    torch.set_num_threads(1)
    lathe.set_threads(1)
    makes = dict(peer.ROWS + peer.LONG_ROWS)
    lathe.capture.capture(lambda x: (x * x).sum(), [np.ones(2)], [torch.ones(2, dtype=torch.double)])  # what PyTorch imports for its first trace has its own row
    rows = {name: example(peer, name, makes[name]) for name in EXAMPLES}
    torch.set_num_threads(before[0])
    lathe.set_threads(before[1])
    return {"must": "captured: the figures of the C library and 1 s for the capture, 5 s in D1v and D3v; called: 3 times PyGRANSO, or its evaluations and 10 %",
            "threads": 1, "rows": rows}


@contextlib.contextmanager
def building():
    """Seconds of processor time of each capture with its check, in the order of the runs."""
    from lathe.compat.pygranso.private import problem
    original, spent = problem.build, []

    def build(*arguments):
        begun = time.process_time()
        made = original(*arguments)
        spent.append(time.process_time() - begun)
        return made
    problem.build = build
    try:
        yield spent
    finally:
        problem.build = original


def example(peer, name, make) -> dict:
    made = {}
    for way in ("verify", "never"):
        problems = make()
        problems = problems if isinstance(problems, list) else [problems]
        for _, _, options in problems:
            options.capture = way
        begun, begun_wall = time.process_time(), time.perf_counter()
        with building() as building_s:
            ends = [peer.solve(*p) for p in problems]
        whole, wall = time.process_time() - begun, time.perf_counter() - begun_wall
        evaluations = sum(e.time_eval for e in ends)
        best = getattr(ends[-1], "best", ends[-1].final)
        if way == "verify":
            made |= {"captured": all(e.how.startswith("captured") for e in ends), "captured_solver_s": whole - sum(building_s), "capture_s": max(building_s), "f": float(best.f)}
        else:
            made |= {"called_s": whole, "called_of_evaluations": wall / evaluations, "called_f": float(best.f), "evaluations": sum(e.fn_evals for e in ends)}
    if python := os.environ.get("LATHE_PYGRANSO_PYTHON"):
        made["pygranso_s"], made["pygranso_f"] = (in_pygranso if len(problems) == 1 else several_in_pygranso)(python, name)
        made["called_faster"] = made["pygranso_s"] / made["called_s"]
    made["called_reaches_its_target"] = made["called_of_evaluations"] <= 1.1 or made.get("called_faster", 0) >= 3
    made = {k: float(f"{v:.4g}") if isinstance(v, float) and not k.endswith("f") else v for k, v in made.items()}
    print(name, json.dumps(made), flush=True)
    return made


def peer_rows(python, *arguments):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"LATHE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([python, os.path.join(ROOT, "bench", "peers", "pygranso.py"), *arguments], capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)["rows"]


def in_pygranso(python, name):
    """(seconds of processor time, f) of one run in the peer."""
    row = peer_rows(python, "--starts", "1", "--only", name)[0]
    return row["seconds"], row["f"][0]


def several_in_pygranso(python, name):
    """The same of a row of several problems, which has no clock of its own: what its process takes beyond one that has no row."""
    def spent(name):
        begun = os.times()
        rows = peer_rows(python, "--only", name)
        ended = os.times()
        return ended.children_user + ended.children_system - begun.children_user - begun.children_system, rows
    (whole, rows), (empty, _) = spent(name), spent("none")
    return (whole - empty) / rows[0]["samples"], rows[0]["f"]


def features():
    """Features of 10,000 operators beside h5py, by turns: the file open; opened for each read, again at once and for the first time."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "python"))
    try:
        import h5py
        from test_dataset_speed import CONFIG, KEY, make_large
    except ImportError as error:
        return {"skipped": str(error)}
    with tempfile.TemporaryDirectory() as folder:
        few, many = (os.path.join(folder, n) for n in ("few.h5", "many.h5"))
        lathe.generate(CONFIG, few, sampling={"total_samples": 4, "batch_size": 4}, simulation={"num_timesteps": 2, "num_realizations": 2})
        make_large(few, many)
        time.sleep(3.5)  # what was just written does not rest
        opened = lathe.Dataset(many)

        def cold():
            with lathe.Dataset(many) as d:
                return d.features()

        def peer():
            with h5py.File(many) as f:
                return f[KEY][...]
        by_h5py, by_open, by_cold = least(7, peer, opened.features, cold)
        opened.close()
        first = []
        for _ in range(5):
            time.sleep(1.5)  # longer than a closed file rests
            begun = time.perf_counter()
            cold()
            first.append(time.perf_counter() - begun)
    return {"h5py_ms": by_h5py * 1e3, "of_h5py_speed_open": by_h5py / by_open, "of_h5py_speed_opened_each_time": by_h5py / by_cold,
            "of_h5py_speed_opened_first": by_h5py / min(first), "must": 1}


def imports():
    """Milliseconds of processor time of `import lathe` beyond `import numpy`, each in a process of its own."""
    def clock():
        t = os.times()
        return t.children_user + t.children_system

    def run(code):
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)
    both, numpy, use = least(7, run("import numpy, lathe"), run("import numpy"), run("import numpy, lathe; lathe.solve; lathe.gram"), clock=clock)
    return {"ms_beyond_numpy": (both - numpy) * 1e3, "with_solve_and_gram_ms": (use - numpy) * 1e3, "must_ms": 80}


ROWS = {"callback": callback, "function": function_call, "captures": captures, "scripts": scripts, "features": features, "imports": imports, "gram": gram}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out")
    arguments.add_argument("--rows", default=",".join(ROWS), help="some of: " + ", ".join(ROWS))
    arguments.add_argument("--gram", type=int, default=20000, metavar="N", help="rows of the Gram matrix; with fewer the cost beyond the library weighs more")
    given = arguments.parse_args()
    made = {"machine": platform.machine(), "cores": os.cpu_count(), "threads": lathe.get_threads(), "python": platform.python_version(), "numpy": np.__version__,
            "lathe": lathe.__version__, "load": os.getloadavg()}
    for name in given.rows.split(","):
        made[name] = ROWS[name](given.gram) if name == "gram" else ROWS[name]()
        print(name, json.dumps(made[name]), flush=True)
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(made, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
