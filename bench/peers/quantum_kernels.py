"""State preparation and whole Gram matrices in PennyLane, Qiskit and NumPy, against lathe in the same run.

    python3 bench/peers/quantum_kernels.py BUILD/bin/lathe [--quick] > quantum.json

Peers that are not installed are left out, with a word on standard error. Whole kernels are first calls
of a fresh `lathe gram`, K checked against the peer's; states are those of `lathe-bench gram`.
SPDX-License-Identifier: BSD-3-Clause
"""
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    sys.exit(f"quantum_kernels.py: NumPy is not installed ({error})")

if len(sys.argv) < 2:
    sys.exit("quantum_kernels.py: name the lathe binary")
LATHE, QUICK = sys.argv[1], "--quick" in sys.argv[2:]
LAYERS = 2
ROWS = []


def data(n, q):
    rng = np.random.default_rng(42)
    x = rng.uniform(-np.pi, np.pi, (n, q))
    return x, rng.normal(0, 0.1, (LAYERS, q))


def timed(call, repeats):
    """The median of a few calls, and what the last one returned."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2], result


def lathe(x, weights, *flags):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        np.save(folder / "x.npy", x)
        np.save(folder / "w.npy", weights)
        command = [LATHE, "gram", "--x", folder / "x.npy", "--weights", folder / "w.npy", "--out", folder / "k.npy", "--device", "cpu",
                   "--json", *flags]
        runs = [json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True).stdout) for _ in range(5)]
        runs.sort(key=lambda r: r["seconds"]["total"])
        return runs[2], np.load(folder / "k.npy")


def lathe_preparation(n, q):
    """Seconds for the states of n rows, memory at hand, as `lathe-bench gram` measures them."""
    command = [LATHE, "bench", "gram", "--device", "cpu", "--sweep", "methods", "--n", str(n), "--qubits", str(q), "--repeats", "5", "--json"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"]
    return next(r["states_s"] for r in rows if r["label"] == "states float64")


def row(name, n, q, peer_seconds, lathe_seconds, error):
    ROWS.append({"row": name, "n": n, "q": q, "peer_seconds": peer_seconds, "lathe_seconds": lathe_seconds,
                 "ratio": peer_seconds / lathe_seconds, "max_difference": error})
    print(f"{name:34} N {n:5} q {q:2}  peer {peer_seconds:9.4g} s  lathe {lathe_seconds:9.4g} s  {peer_seconds / lathe_seconds:9.4g}x"
          f"  off by {error:.2g}", file=sys.stderr)


def embed(qml, x, q):
    """RY then RZ by the same angle on every wire; x is one row, or a batch with rows first."""
    for k in range(q):
        qml.RY(x[..., k], wires=k)
        qml.RZ(x[..., k], wires=k)


def circuit(qml, x, weights, q):
    for layer in range(LAYERS):
        embed(qml, x, q)
        qml.BasicEntanglerLayers(weights[layer:layer + 1], wires=range(q))


def preparation(qml):
    """The better of a broadcast simulation and one row at a time."""
    for q, n in ((6, 200), (10, 100), (12, 50), (16, 6)) if QUICK else ((6, 2000), (10, 500), (12, 200), (16, 20)):
        x, w = data(n, q)
        broadcast = qml.QNode(lambda v: (circuit(qml, v, w, q), qml.state())[1], qml.device("default.qubit", wires=q))
        single = qml.QNode(lambda v: (circuit(qml, v, w, q), qml.state())[1], qml.device("lightning.qubit", wires=q))
        t_broadcast, states = timed(lambda: np.asarray(broadcast(x)), 3)
        t_single, _ = timed(lambda: [single(v) for v in x], 1 if q > 12 else 3)
        _, k = lathe(x, w, "--re-embed", "--method", "states")
        error = float(np.abs(np.abs(states @ states.conj().T) ** 2 - k).max())
        row("states, PennyLane", n, q, min(t_broadcast, t_single), lathe_preparation(n, q), error)


def square_matrix(qml):
    q, n = 6, 20 if QUICK else 50
    x, w = data(n, q)
    dev = qml.device("lightning.qubit", wires=q)

    @qml.qnode(dev)
    def overlap(a, b):
        circuit(qml, a, w, q)
        qml.adjoint(circuit)(qml, b, w, q)
        return qml.probs(wires=range(q))

    seconds, k = timed(lambda: qml.kernels.square_kernel_matrix(x, lambda a, b: overlap(a, b)[0], assume_normalized_kernel=True), 1)
    run, ours = lathe(x, w, "--re-embed", "--method", "states")
    row("whole kernel, pennylane.kernels", n, q, seconds, run["seconds"]["total"], float(np.abs(np.array(k) - ours).max()))


def qiskit_matrix():
    from qiskit.circuit import ParameterVector, QuantumCircuit
    from qiskit_machine_learning.kernels import FidelityStatevectorKernel
    q, n = 6, 50 if QUICK else 200
    x, w = data(n, q)
    parameters = ParameterVector("x", q)
    c = QuantumCircuit(q)
    for layer in range(LAYERS):
        for k in range(q):
            c.ry(parameters[k], k)
            c.rz(parameters[k], k)
        for k in range(q):
            c.rx(float(w[layer, k]), k)
        for k in range(q):
            c.cx(k, (k + 1) % q)
    kernel = FidelityStatevectorKernel(feature_map=c)
    seconds, k = timed(lambda: kernel.evaluate(x), 3)
    run, ours = lathe(x, w, "--re-embed", "--method", "states")
    row("whole kernel, Qiskit", n, q, seconds, run["seconds"]["total"], float(np.abs(k - ours).max()))


def numpy_product():
    q, n = 16, 1000 if QUICK else 4000
    x, w = data(n, q)

    def closed_form():
        k = np.ones((n, n))
        for j in range(q):
            a, b = x[:, j, None], x[None, :, j]
            k *= 0.5 * (1 + np.cos(a) * np.cos(b) + np.cos(a - b) * np.sin(a) * np.sin(b))
        return k

    seconds, k = timed(closed_form, 3)
    run, ours = lathe(x, w, "--method", "product")
    row("product method, NumPy", n, q, seconds, run["seconds"]["total"], float(np.abs(k - ours).max()))


def main():
    numpy_product()
    versions = {"numpy": np.__version__}
    try:
        import pennylane as qml
        versions["pennylane"] = qml.__version__
        preparation(qml)
        square_matrix(qml)
    except ImportError as error:
        print(f"PennyLane is not installed ({error}); its rows are left out", file=sys.stderr)
    try:
        import qiskit
        versions["qiskit"] = qiskit.__version__
        qiskit_matrix()
    except ImportError as error:
        print(f"Qiskit is not installed ({error}); its rows are left out", file=sys.stderr)
    worst = max(r["max_difference"] for r in ROWS)
    json.dump({"command": "python3 bench/peers/quantum_kernels.py" + (" --quick" if QUICK else ""), "machine": platform.processor() or platform.machine(),
               "versions": versions, "rows": ROWS}, sys.stdout, indent=2)
    print()
    if not worst < 1e-6:
        sys.exit(f"quantum_kernels.py: a matrix differs by {worst}")


main()
