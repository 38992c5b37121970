#!/usr/bin/env python3
"""The same operators by lathe and by plain PyTorch (torch_dataset.py), row by row in turn; prints JSON with both times and their ratio.

    python3 bench/peers/dataset_turns.py [--lathe build/bin/lathe] [--rows 1 3 4] [--budget 8] > generate-dataset.json

The operators are the eight of examples/configs/baseline_10k.yaml at grid 64 with 3 realizations of 100 steps in float32 on the CPU. Rows 1, 3 and 4 take half
a minute on two quiet cores, all eight two minutes. Both use the threads of LATHE_THREADS, else all cores. A rollout of PyTorch's that is not done after --budget
seconds is stopped and its time scaled to all steps. Memory is what each process held at most. SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROWS = 8
OVER = f"""parameter_space: {{operator: {{grid_size: {{type: choice, choices: [64]}}}}}}
sampling: {{total_samples: {ROWS}, batch_size: 1}}
simulation: {{num_timesteps: 100, num_realizations: 3, precision: float32, device: cpu}}
"""


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown")


def run(command):
    """Standard output of a process that must succeed, and the most memory it held, in bytes."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"dataset_turns.py: {' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
        out.seek(0)
        return json.load(out), usage.ru_maxrss * 1024


def turn(a, row, folder):
    path, over = os.path.join(folder, f"row-{row}.h5"), os.path.join(folder, "over.yaml")
    with open(over, "w", encoding="utf-8") as f:
        f.write(OVER)
    lathe, lathe_bytes = run([a.lathe, "generate", "--config", os.path.join(ROOT, "examples", "configs", "baseline_10k.yaml"), "--merge", over, "--shard", f"{row}/{ROWS}",
                              "--output", path, "--quiet", "--json"])
    torch, torch_bytes = run([sys.executable, os.path.join(HERE, "torch_dataset.py"), path, "--lathe", a.lathe, "--features", "state", "--budget", str(a.budget)])
    ours = {"total": lathe["total_time"], "inference": lathe["seconds"]["inference"], "features": lathe["seconds"]["features"], "bytes": lathe_bytes}
    theirs = {"total": torch["seconds"]["total"], "inference": torch["seconds"]["rollout"], "features": torch["seconds"]["features"], "bytes": torch_bytes}
    print(f"row {row}: lathe {ours['total']:.2f} s, PyTorch {theirs['total']:.2f} s: {theirs['total'] / ours['total']:.1f}x", file=sys.stderr)
    return {"row": row, "lathe": ours, "torch": theirs, "peer": torch["peer"]}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lathe", default=os.path.join(ROOT, "build", "bin", "lathe"))
    p.add_argument("--rows", type=int, nargs="+", default=list(range(ROWS)), choices=range(ROWS), metavar="ROW")
    p.add_argument("--budget", type=float, default=8, metavar="S")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        operators = [turn(a, row, folder) for row in a.rows]
    total = {who: {k: sum(o[who][k] for o in operators) for k in ("total", "inference", "features")} for who in ("lathe", "torch")}
    ratio = {k: total["torch"][k] / total["lathe"][k] for k in total["lathe"]}
    ratio["memory"] = max(o["lathe"]["bytes"] for o in operators) / max(o["torch"]["bytes"] for o in operators)
    print(json.dumps({"command": "bench/peers/dataset_turns.py " + " ".join(sys.argv[1:]), "machine": {"processor": processor(), "cores": len(os.sched_getaffinity(0)),
                      "load": os.getloadavg()}, "seconds": total, "ratio": ratio, "operators": operators}, indent=1))


if __name__ == "__main__":
    main()
