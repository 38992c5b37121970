"""Circuits of any gates against PennyLane, Qiskit Aer and scikit-learn in the same run: states of `zz`, its kernel, the gradient of an alignment, training, a machine.

    pip install pennylane qiskit qiskit-aer scikit-learn
    PYTHONPATH=BUILD/python python3 bench/peers/circuits.py BUILD/bin/lathe [--quick] > circuits.json     (two minutes)

Calls of lathe and of a peer are taken in turns; medians with their spread (distance of the quartiles), of the clock and of the cores' time: what else runs on a
machine makes the clock's go up by far more than the cores'. What is not installed is left out, with a word on standard
error. Results are compared before they are timed. SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np

if len(sys.argv) < 2:
    sys.exit("circuits.py: name the lathe binary")
LATHE, QUICK = sys.argv[1], "--quick" in sys.argv[2:]
try:
    import pennylane as qml  # before the others: lightning's OpenMP wants room for its thread-local data, of which a process has little
    qml.device("lightning.qubit", wires=1)
except ImportError as error:
    qml = None
    print(f"PennyLane is not installed ({error}); its rows are left out", file=sys.stderr)
try:
    import lathe
except ImportError as error:
    sys.exit(f"circuits.py: the package lathe is not on PYTHONPATH ({error})")
ROWS, VERSIONS = [], {"numpy": np.__version__}


def turns(calls, repeats):
    """Median, quartile distance, median of the cores' time and last result of each call; all once unmeasured, then in turns."""
    results = {name: call() for name, (call, _) in calls.items()}
    times, cores = {name: [] for name in calls}, {name: [] for name in calls}
    for turn in range(repeats):
        for name, (call, most) in calls.items():
            if turn >= most:
                continue
            start, used = time.perf_counter(), time.process_time()
            results[name] = call()
            times[name].append(time.perf_counter() - start)
            cores[name].append(time.process_time() - used)
    spread = {name: float(np.subtract(*np.percentile(t, [75, 25]))) for name, t in times.items()}
    return {name: float(np.median(t)) for name, t in times.items()}, (spread, {name: float(np.median(t)) for name, t in cores.items()}), results


def row(name, n, q, seconds, spread, target, peer, difference, **more):
    """target: what the ratio is to reach; None: a row without one."""
    ratio, (spread, cores) = seconds[peer] / seconds["lathe"], spread
    if cores:
        more = {"cores_ratio": cores[peer] / cores["lathe"], "lathe_cores_seconds": cores["lathe"], "peer_cores_seconds": cores[peer], **more}
    ROWS.append({"row": name, "n": n, "q": q, "lathe_seconds": seconds["lathe"], "lathe_spread": spread["lathe"], "peer": peer, "peer_seconds": seconds[peer], "peer_spread": spread[peer],
                 "ratio": ratio, "target": target, "max_difference": difference, **more})
    print(f"{name:28} N {n:5} q {q:2}  {peer:26} {seconds[peer]:9.4g} s  lathe {seconds['lathe']:9.4g} s  {ratio:9.4g}x  target {target}  off by {difference:.2g} {more or ''}", file=sys.stderr)


def pairs(q):
    return [(i, j) for i in range(q) for j in range(i + 1, q)]


def zz(qml, x, q):
    """x is one row, or a batch with rows first."""
    for _ in range(2):
        for i in range(q):
            qml.Hadamard(i)
            qml.PhaseShift(2 * x[..., i], i)
        for i, j in pairs(q):
            qml.CNOT([i, j])
            qml.PhaseShift(2 * (np.pi - x[..., i]) * (np.pi - x[..., j]), j)
            qml.CNOT([i, j])


def aer_states(q, x):
    """States of all rows by Qiskit Aer: one circuit with parameters, bound to the columns."""
    from qiskit import transpile
    from qiskit.circuit import ParameterVector, QuantumCircuit
    from qiskit_aer import AerSimulator
    v, c = ParameterVector("x", q), QuantumCircuit(q)
    for _ in range(2):
        for i in range(q):
            c.h(i)
            c.p(2 * v[i], i)
        for i, j in pairs(q):
            c.cx(i, j)
            c.p(2 * (np.pi - v[i]) * (np.pi - v[j]), j)
            c.cx(i, j)
    c.save_statevector()
    simulator = AerSimulator(method="statevector")
    c = transpile(c, simulator, optimization_level=0)

    def call():
        result = simulator.run(c, parameter_binds=[{v[i]: list(x[:, i]) for i in range(q)}], shots=1).result()
        return np.array([np.asarray(result.data(k)["statevector"]) for k in range(len(x))])
    return call


def difference_of_states(a, b):
    """How far overlaps of rows that should be equal up to a phase are from one."""
    return float(np.abs(np.abs(np.sum(a * b.conj(), axis=1)) - 1).max())


def reversed_wires(states, q):
    """Qiskit's first wire is the least significant bit."""
    return states.reshape((-1,) + (2,) * q).transpose((0,) + tuple(range(q, 0, -1))).reshape(len(states), -1)


def copy_bandwidth():
    """Bytes a second that are read and written by copying an array far larger than the caches."""
    a = np.ones(1 << 25)
    b = np.empty_like(a)
    best = min(_timed(lambda: np.copyto(b, a)) for _ in range(5))
    return 2 * a.nbytes / best


def _timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def states(qml, q, n, one_by_one, targets):
    x = np.random.default_rng(q).uniform(0, 1, (n, q))
    kernel = lathe.QuantumKernel(map="zz")
    single = qml.QNode(lambda v: (zz(qml, v, q), qml.state())[1], qml.device("lightning.qubit", wires=q))
    calls = {"lathe": (lambda: kernel.states(x), 99), "lightning.qubit, one by one": (lambda: np.array([single(v) for v in x[:one_by_one]]), 3)}
    if "default.qubit, broadcast" in targets:
        broadcast = qml.QNode(lambda v: (zz(qml, v, q), qml.state())[1], qml.device("default.qubit", wires=q))
        calls["default.qubit, broadcast"] = (lambda: np.asarray(broadcast(x)), 5)
    if "qiskit" in VERSIONS:
        calls["Qiskit Aer"] = (aer_states(q, x[:one_by_one]), 3)
    seconds, spread, made = turns(calls, 9)
    for peer in ("lightning.qubit, one by one", "Qiskit Aer"):  # timed on fewer rows, one after the other either way
        if peer in calls:
            for numbers in (seconds, *spread):
                numbers[peer] *= n / one_by_one
    for peer in list(calls)[1:]:
        theirs = reversed_wires(made[peer], q) if peer == "Qiskit Aer" else made[peer]
        more = {}
        if q == 16 and peer.startswith("lightning"):
            passes = 2 * (2 * q + 3 * len(pairs(q)))
            bound = passes * 2 * 16 * 2 ** q * n / copy_bandwidth()
            more = {"unfused_bandwidth_bound_seconds": bound, "of_bound": bound / seconds["lathe"]}
        row("states, zz", n, q, seconds, spread, targets.get(peer), peer, difference_of_states(made["lathe"][:len(theirs)], theirs), **more)


def kernels():
    """The whole kernel of zz against that of today's layers."""
    q, n = 10, 500 if QUICK else 4000
    x = np.random.default_rng(1).uniform(0, 1, (n, q))
    ours = lathe.QuantumKernel(map="zz")
    layers = lathe.QuantumKernel(np.random.default_rng(2).normal(0, 0.5, (2, q)), re_embed=True, method="states")
    seconds, spread, _ = turns({"lathe": (lambda: ours(x), 99), "ryrz by states, in lathe": (lambda: layers(x), 99)}, 9)
    row("whole kernel, zz", n, q, seconds, spread, 0.95, "ryrz by states, in lathe", 0.0)


def alignment_slopes(K, T):
    k, t = np.linalg.norm(K), np.linalg.norm(T)
    value = np.sum(K * T) / (k * t)
    return value, T / (k * t) - value * K / k ** 2


def strong(qml, x, w, q):
    for layer in range(len(w)):
        for i in range(q):
            qml.RX(x[:, i], i)
        qml.StronglyEntanglingLayers(w[layer:layer + 1], wires=range(q), ranges=[1 + layer % (q - 1)])


def peer_alignment(qml, q, x, T):
    """The alignment as a function of weights, differentiated by backpropagation through the simulator."""
    from pennylane import numpy as pnp
    node = qml.QNode(lambda w: (strong(qml, x, w, q), qml.state())[1], qml.device("default.qubit", wires=q), interface="autograd", diff_method="backprop")
    norm = np.linalg.norm(T)

    def value(w):
        s = node(w)
        K = pnp.abs(pnp.dot(s, pnp.conj(pnp.transpose(s)))) ** 2
        return pnp.sum(K * T) / (pnp.sqrt(pnp.sum(K ** 2)) * norm)
    return value


def gradient(qml):
    from pennylane import numpy as pnp
    q, n = 8, 60 if QUICK else 500
    rng = np.random.default_rng(3)
    x, w, y = rng.uniform(0, 1, (n, q)), rng.normal(0, 0.5, (3, q, 3)), rng.integers(0, 2, n) * 2 - 1.0
    T = np.outer(y, y)
    kernel = lathe.QuantumKernel(w, map="strong", reupload=True)
    K = kernel(x)
    dK = alignment_slopes(K, T)[1]
    slope = qml.grad(peer_alignment(qml, q, x, T))
    weights = pnp.array(w, requires_grad=True)
    seconds, spread, made = turns({"lathe": (lambda: kernel.gradient(x, dK), 99), "its kernel": (lambda: kernel(x), 99), "default.qubit, backprop": (lambda: slope(weights), 3)}, 9)
    difference = float(np.abs(made["lathe"] - np.asarray(made["default.qubit, backprop"])).max())
    row("gradient, strong, 3 layers", n, q, seconds, spread, 100, "default.qubit, backprop", difference, over_its_kernel=seconds["lathe"] / seconds["its kernel"],
        over_its_kernel_cores=spread[1]["lathe"] / spread[1]["its kernel"])


def train(qml):
    """Kernel training from the same start, as many steps: lathe's optimizer against Adam."""
    from pennylane import numpy as pnp
    q, layers, n, steps = 4, 5, 60 if QUICK else 400, 5 if QUICK else 100
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (n, q))
    y = np.where(np.sin(3 * x[:, 0]) * x[:, 1] + 0.3 * x[:, 2] > 0, 1.0, -1.0)
    w = rng.normal(0, 0.5, (layers, q, 3))
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("x", x), ("y", y), ("w", w)):
            np.save(f"{folder}/{name}.npy", array)
        command = [LATHE, "train-kernel", "--x", f"{folder}/x.npy", "--labels", f"{folder}/y.npy", "--map", f"strong(layers={layers}, reupload=true)", "--weights", f"{folder}/w.npy",
                   "--iterations", str(steps), "--device", "cpu", "--json"]
        ours = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    value = peer_alignment(qml, q, x, np.outer(y, y))
    start, optimizer, weights = time.perf_counter(), qml.AdamOptimizer(0.1), pnp.array(w, requires_grad=True)
    first, best = float(value(weights)), -1.0
    for _ in range(steps):
        weights, before = optimizer.step_and_cost(lambda v: -value(v), weights)
        best = max(best, -float(before))
    best = max(best, float(value(weights)))
    seconds = {"lathe": ours["seconds"], "Adam on backprop": time.perf_counter() - start}
    row(f"training, 60 weights, {steps} steps", n, q, seconds, ({"lathe": 0.0, "Adam on backprop": 0.0}, None), None, "Adam on backprop", abs(first - ours["alignment_start"]),
        alignment=ours["alignment"], peer_alignment=best, lathe_seconds_target=20, alignment_reached=bool(ours["alignment"] >= best))


def digits():
    """A machine of ten classes on one K: lathe's own against scikit-learn's; the difference is the share of unlike labels."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.svm import SVC
    pixels, labels = load_digits(return_X_y=True)
    X = PCA(8, random_state=0).fit_transform(pixels)
    K = lathe.gram((X - X.min(axis=0)) / np.ptp(X, axis=0), map="zz", reps=1, entanglement="linear")
    test = np.arange(len(X)) % 4 == 0
    inside, across = np.ascontiguousarray(K[np.ix_(~test, ~test)]), np.ascontiguousarray(K[np.ix_(test, ~test)])
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("K", inside), ("T", across), ("y", labels[~test]), ("t", labels[test])):
            np.save(f"{folder}/{name}.npy", array)
        command = [LATHE, "qsvm", "--kernel", f"{folder}/K.npy", "--labels", f"{folder}/y.npy", "--test-kernel", f"{folder}/T.npy", "--test-labels", f"{folder}/t.npy", "--c", "10",
                   "--no-balanced", "--folds", "0", "--model-out", f"{folder}/m", "--device", "cpu", "--json"]
        ours = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        subprocess.run([LATHE, "qsvm", "predict", "--model", f"{folder}/m", "--kernel", f"{folder}/T.npy", "--out", f"{folder}/p.npy", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        predicted = np.load(f"{folder}/p.npy").ravel()
    start = time.perf_counter()
    theirs = SVC(C=10, kernel="precomputed").fit(inside, labels[~test]).predict(across)
    seconds = {"lathe": ours["seconds"]["fit"], "scikit-learn": time.perf_counter() - start}
    row("QSVC, digits, ten classes", len(X), 8, seconds, ({"lathe": 0.0, "scikit-learn": 0.0}, None), None, "scikit-learn", float(np.mean(predicted != theirs)), accuracy=float(np.mean(predicted == labels[test])))


def describe():
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True).stdout.strip()
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return {"command": "python3 bench/peers/circuits.py BUILD/bin/lathe" + (" --quick" if QUICK else ""), "commit": commit, "machine": {"name": model, "cores": os.cpu_count(), "device": "cpu"},
            "threads": lathe.get_threads(), "load": os.getloadavg()[0], "versions": VERSIONS}


def main():
    before = os.getloadavg()[0]
    try:
        import qiskit
        import qiskit_aer
        VERSIONS.update(qiskit=qiskit.__version__, qiskit_aer=qiskit_aer.__version__)
    except ImportError as error:
        print(f"Qiskit Aer is not installed ({error}); its rows are left out", file=sys.stderr)
    kernels()
    if qml:
        VERSIONS["pennylane"] = qml.__version__
        states(qml, 8, 200 if QUICK else 4000, 50 if QUICK else 400, {"default.qubit, broadcast": 50, "lightning.qubit, one by one": 300})
        states(qml, 16, 10 if QUICK else 200, 5 if QUICK else 20, {"lightning.qubit, one by one": 5})
        gradient(qml)
        train(qml)
    try:
        import sklearn
        VERSIONS["scikit-learn"] = sklearn.__version__
        digits()
    except ImportError as error:
        print(f"scikit-learn is not installed ({error}); its row is left out", file=sys.stderr)
    json.dump({**describe(), "load_before": before, "rows": ROWS}, sys.stdout, indent=2)
    print()
    worst = max(r["max_difference"] for r in ROWS)
    if not worst < 1e-6:
        sys.exit(f"circuits.py: a result differs by {worst}")


main()
