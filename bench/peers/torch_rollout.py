"""The step of `lathe-bench generate` timed in PyTorch; prints the JSON that --peer takes.

    python3 bench/peers/torch_rollout.py [--quick] [--compile] [--realizations 5] [--device cuda] [--budget 20] [--steps 500] > torch.json
    lathe-bench generate --peer torch.json

Rows: float32_eager (channels first, as Spinlock runs), float32_best (the fastest of eager,
channels last and, with --compile, torch.compile), and the same for bfloat16; on a GPU also for float16, with
steps queued --samples times without waiting in between and float32 without TF32. PyTorch's best allocator
setting is the caller's: run it once more under LD_PRELOAD=libjemalloc.so or libtcmalloc.so.
A step of the whole workload takes seconds on a few cores: --budget ends the timing of a model after so many
seconds, with one step at least, and the row says how many steps it has and how far they lie apart. --steps T adds
what a rollout of T states would take: T - 1 times the median step, not run, and called extrapolated.
Where PyTorch is not installed it says so on standard error and exits with 1.
SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import json
import os
import sys
import time

try:
    import torch
    from torch import nn
except ImportError as error:
    sys.exit(f"torch_rollout.py: PyTorch is not installed ({error}); its rows are left out")


class ConvBlock(nn.Module):
    def __init__(self, i, o, k):
        super().__init__()
        self.conv = nn.Conv2d(i, o, k, padding=k // 2, bias=False)
        self.norm = nn.InstanceNorm2d(o, affine=True)

    def forward(self, x):
        return nn.functional.gelu(self.norm(self.conv(x)))


class ResidualBlock(nn.Module):
    def __init__(self, i, o, k):
        super().__init__()
        self.conv1, self.conv2 = ConvBlock(i, o, k), ConvBlock(o, o, k)
        self.proj = nn.Conv2d(i, o, 1, bias=False) if i != o else nn.Identity()

    def forward(self, x):
        return self.conv2(self.conv1(x)) + self.proj(x)


class Operator(nn.Module):
    """Blocks of widths b, 2b, 4b, 4b, ...: plain up to three, else residual; noise before the output map; then the update."""

    def __init__(self, b, k, layers=4, scale=0.01, policy=("convex", 0.5)):
        super().__init__()
        widths = [b] + [b << min(i, 2) for i in range(layers)]
        block = ResidualBlock if layers > 3 else ConvBlock
        self.stem = ConvBlock(3, b, k)
        self.blocks = nn.Sequential(*(block(i, o, k) for i, o in zip(widths, widths[1:])))
        self.output = nn.Conv2d(widths[-1], 3, 1)
        self.scale, self.policy = scale, policy

    def forward(self, x):
        y = self.blocks(self.stem(x))
        y = self.output(y + self.scale * torch.randn_like(y))
        name, value = self.policy
        return value * x + (1 - value) * y if name == "convex" else x + value * y if name == "residual" else y


def seconds(step, x, repeats, budget):
    """Single steps, sorted, the state fed back as a rollout does; on a GPU the mean of many queued steps, alone."""
    samples = []
    with torch.no_grad():
        x = step(x)  # compiles, and brings memory
        begin = time.perf_counter()
        if x.is_cuda:
            for _ in range(3):
                x = step(x)
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(repeats):
                x = step(x)
            torch.cuda.synchronize()
            return [(time.perf_counter() - start) / repeats]
        for _ in range(repeats):
            start = time.perf_counter()
            x = step(x)
            samples.append(time.perf_counter() - start)
            if time.perf_counter() - begin > budget:
                break
    return sorted(samples)


def measured(model, field, dtype, a):
    def step(s):
        if dtype is None:
            return model(s)
        with torch.autocast(a.device, dtype=dtype):
            return model(s).float()
    return seconds(step, field, a.samples, a.budget)


def median(samples):
    return samples[len(samples) // 2]


def row(name, how, samples, a):
    r = {"name": name, "seconds": median(samples), "how": how, "steps_timed": len(samples), "least": samples[0], "most": samples[-1]}
    if a.steps:
        r["extrapolated_rollout_seconds"] = (a.steps - 1) * median(samples)
    print(f"{name}: {how}, {median(samples):.3f} s a step, {len(samples)} timed", file=sys.stderr)
    return r


def rows_of(name, dtype, a, x, b):
    eager = measured(Operator(b, 3).eval().to(a.device), x, dtype, a)
    last, wide = Operator(b, 3).eval().to(a.device, memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    tried = [("eager", eager), ("channels last", measured(last, wide, dtype, a))]
    if a.compile:
        tried.append(("torch.compile", measured(torch.compile(last), wide, dtype, a)))
    best = min(tried, key=lambda t: median(t[1]))
    return [row(f"{name}_eager", "eager", eager, a), row(f"{name}_best", *best, a)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--quick", action="store_true")
    p.add_argument("--compile", action="store_true", help="also torch.compile (slow to start)")
    p.add_argument("--realizations", type=int, default=5)
    p.add_argument("--samples", type=int, default=5, help="steps timed; on a GPU 100 at least")
    p.add_argument("--budget", type=float, default=float("inf"), metavar="S", help="seconds for the steps of one model")
    p.add_argument("--steps", type=int, default=0, metavar="T", help="say what a rollout of T states would take")
    p.add_argument("--only", metavar="TYPE", help="float32, bfloat16 or float16 alone")
    p.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    a = p.parse_args()
    if a.device == "cuda":
        if not torch.cuda.is_available():
            sys.exit("torch_rollout.py: PyTorch sees no GPU; its rows are left out")
        a.samples = max(a.samples, 100)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(int(os.environ.get("LATHE_THREADS", len(os.sched_getaffinity(0)))))
    torch.manual_seed(0)
    side, b = (32, 16) if a.quick else (128, 64)
    x = torch.randn(a.realizations, 3, side, side, device=a.device)
    types = [("float32", None), ("bfloat16", torch.bfloat16)]
    if a.device == "cuda":
        types.append(("float16", torch.float16))
    rows = [r for name, dtype in types if a.only in (None, name) for r in rows_of(name, dtype, a, x, b)]
    place = torch.cuda.get_device_name() if a.device == "cuda" else f"{torch.get_num_threads()} threads"
    print(json.dumps({"peer": f"PyTorch {torch.__version__}, {place}", "command": " ".join(["python3", *sys.argv]), "machine": place, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
