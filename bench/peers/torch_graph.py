"""The rows of `lathe-bench graph` timed in PyTorch eager; prints the JSON that --peer takes.

    python3 bench/peers/torch_graph.py [--quick] [--device cuda] > torch.json
    lathe-bench graph [--device cuda] --peer torch.json

On a GPU calls are queued one after the other and waited for together, and f32 is f32 (no TF32).
Where PyTorch is not installed it says so on standard error and exits with 1.
SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import json
import os
import platform
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    sys.exit(f"torch_graph.py: PyTorch is not installed ({error}); its rows are left out")

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
asked = parser.parse_args()
QUICK, CUDA = asked.quick, asked.device == "cuda"
BUDGET = 0.05 if QUICK else 1.0


def median_seconds(call):
    """Doubles the calls per sample until the clock can be trusted, then takes the median."""
    def seconds_of(calls):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        if CUDA:
            torch.cuda.synchronize()
        return time.perf_counter() - start

    seconds_of(3)
    calls = 1
    while seconds_of(calls) < 2e-3:
        calls *= 2
    samples = []
    begin = time.perf_counter()
    while len(samples) < 5 or (time.perf_counter() - begin < BUDGET and len(samples) < 200):
        samples.append(seconds_of(calls) / calls)
    samples.sort()
    return samples[len(samples) // 2]


def uniform(shape, dtype, spread=1.0):
    return (2 * torch.rand(shape, dtype=dtype) - 1) * spread


def rosenbrock():
    x = uniform(2, torch.float64).requires_grad_()

    def call():
        x.grad = None
        f = 8 * torch.abs(x[0] ** 2 - x[1]) + (1 - x[0]) ** 2
        f.backward()

    return call


def chain():
    x = uniform(1_000_000 if QUICK else 10_000_000, torch.float64)

    def call():
        y = x * 0.5
        y = y + 1
        y = y.square()
        y = y - x
        y = y.abs()
        y = y.clamp(max=2)
        y = torch.maximum(y, x)
        return y * 3

    return call


def sum_exp():
    x = uniform(1_000_000, torch.float32)
    return lambda: torch.exp(-x.square()).sum()


def matmul(dtype):
    n = 512 if QUICK else 1024
    a, b = uniform((n, n), dtype), uniform((n, n), dtype)
    return lambda: a @ b


def conv(gelu):
    side = 32 if QUICK else 128
    x = uniform((5, 64, side, side), torch.float32)
    w = uniform((64, 64, 3, 3), torch.float32, 0.04)
    b = uniform(64, torch.float32)
    if gelu:
        return lambda: F.gelu(F.conv2d(x, w, b, padding=1))
    return lambda: F.conv2d(x, w, padding=1)


def lenet(dtype):
    batch = 32 if QUICK else 256
    shapes = [(6, 3, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 400), (120,), (84, 120), (84,), (10, 84), (10,)]
    p = [uniform(s, dtype, 0.1).requires_grad_() for s in shapes]
    x = uniform((batch, 3, 32, 32), dtype)
    labels = torch.randint(10, (batch,))

    def call():
        for t in p:
            t.grad = None
        h = F.max_pool2d(F.relu(F.conv2d(x, p[0], p[1])), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, p[2], p[3])), 2)
        h = h.reshape(batch, 400)
        h = F.relu(F.linear(h, p[4], p[5]))
        h = F.relu(F.linear(h, p[6], p[7]))
        F.cross_entropy(F.linear(h, p[8], p[9]), labels).backward()

    return call


def jacobian():
    """One reverse pass per row, as PyGRANSO's users write it."""
    n = 10 if QUICK else 30
    v = uniform((n, n), torch.float64).requires_grad_()
    eye = torch.eye(n, dtype=torch.float64)

    def call():
        y = (v.T @ v - eye).reshape(-1)
        return torch.stack([torch.autograd.grad(y[i], v, retain_graph=True)[0].reshape(-1) for i in range(y.numel())])

    return call


ROWS = [
    ("rosenbrock", rosenbrock), ("chain", chain), ("sum_exp", sum_exp),
    ("matmul_f32", lambda: matmul(torch.float32)), ("matmul_f64", lambda: matmul(torch.float64)),
    ("conv", lambda: conv(False)), ("conv_gelu", lambda: conv(True)),
    ("lenet_f64", lambda: lenet(torch.float64)), ("lenet_f32", lambda: lenet(torch.float32)),
    ("jacobian", jacobian),
]


def main():
    if CUDA:
        if not torch.cuda.is_available():
            sys.exit("torch_graph.py: PyTorch sees no GPU; its rows are left out")
        torch.set_default_device("cuda")
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    threads = os.environ.get("LATHE_THREADS")
    if threads:
        torch.set_num_threads(int(threads))
    rows = []
    for name, make in ROWS:
        rows.append({"name": name, "seconds": median_seconds(make())})
        print(f"{name}: {rows[-1]['seconds']:.3g} s", file=sys.stderr)
    json.dump({"peer": f"PyTorch {torch.__version__.split('+')[0]}", "quick": QUICK, "threads": torch.get_num_threads(),
               "command": " ".join(["python3", *sys.argv]), "machine": torch.cuda.get_device_name() if CUDA else platform.processor() or platform.machine(), "rows": rows}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
