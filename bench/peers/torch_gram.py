"""The rows of `lathe-bench gram --sweep targets` on a GPU in PyTorch, and in CuPy where it is installed.

    python3 bench/peers/torch_gram.py [--quick] > torch.json
    lathe-bench gram --device cuda --sweep targets --peer torch.json

States are given (random, normalised): only products, squared moduli and the copy to the host are timed, which
flatters the peer. Where PyTorch or a GPU is missing it says so on standard error and exits with 1.
SPDX-License-Identifier: BSD-3-Clause
"""
import json
import sys
import time

try:
    import torch
except ImportError as error:
    sys.exit(f"torch_gram.py: PyTorch is not installed ({error}); its rows are left out")
if not torch.cuda.is_available():
    sys.exit("torch_gram.py: PyTorch sees no GPU; its rows are left out")

QUICK = "--quick" in sys.argv[1:]
N = 1000 if QUICK else 20000
ROWS = []


def row(name, seconds):
    ROWS.append({"name": name, "seconds": seconds})
    print(f"{name:24} {1e3 * seconds:10.3f} ms", file=sys.stderr)


def device_seconds(call, repeats=5):
    """The median by the device's clock, after one call that does not count."""
    call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(1e-3 * begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def call_seconds(call, repeats=2):
    call()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def states(n, q, dtype):
    s = torch.randn((n, 1 << q), dtype=dtype, device="cuda")
    for part in s.split(1000):
        part /= part.norm(dim=1, keepdim=True)
    return s


def gram(s):
    """|<a|b>|^2 of all rows with all rows. The conjugate is a view; K is made in place of the modulus."""
    return (s @ s.mH).abs().square_()


def overlaps():
    for name, dtype in (("c128", torch.complex128), ("c64", torch.complex64)):
        for q in (6, 8, 10, 12):
            s = states(N, q, dtype)
            row(f"{name} q{q}", device_seconds(lambda: gram(s)))


def whole_calls():
    for n in (2000, 4000, 8000, 16000, 20000):
        s = states(n // 20 if QUICK else n, 16, torch.complex128)
        row(f"call q16 n{n}", call_seconds(lambda: gram(s).cpu(), 1 if n > 4000 else 3))
        del s
        torch.cuda.empty_cache()


def product():
    a = (torch.rand((16, N, 1), dtype=torch.float64, device="cuda") * 2 - 1) * 3
    bloch = torch.cat((a.sin() * a.cos(), a.sin().square(), a.cos()), 2) * 0.5 ** 0.5

    def closed_form():
        k = torch.full((N, N), 1.0, dtype=torch.float64, device="cuda")
        for wire in bloch:
            k *= torch.addmm(torch.tensor(0.5, dtype=torch.float64, device="cuda"), wire, wire.T)
        return k

    row("product q16", device_seconds(closed_form))
    row("product q16 call", call_seconds(lambda: closed_form().cpu()))


def in_cupy():
    try:
        import cupy
    except ImportError as error:
        print(f"CuPy is not installed ({error}); its rows are left out", file=sys.stderr)
        return None
    for q in (6, 10):
        s = cupy.asarray(states(N, q, torch.complex128))

        def call():
            k = s @ s.conj().T
            return k.real ** 2 + k.imag ** 2

        call()
        times = []
        for _ in range(3):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            call()
            end.record()
            end.synchronize()
            times.append(1e-3 * cupy.cuda.get_elapsed_time(begin, end))
        row(f"cupy c128 q{q}", sorted(times)[1])
        del s
        cupy.get_default_memory_pool().free_all_blocks()
    return cupy.__version__


torch.backends.cuda.matmul.allow_tf32 = False
overlaps()
product()
whole_calls()
cupy_version = in_cupy()
json.dump({"peer": f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}" + (f", CuPy {cupy_version}" if cupy_version else ""),
           "command": "python3 bench/peers/torch_gram.py", "machine": torch.cuda.get_device_name(), "rows": ROWS}, sys.stdout, indent=2)
print()
