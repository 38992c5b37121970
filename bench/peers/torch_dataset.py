"""A small dataset made as a plain PyTorch program makes it, for the operators of a file of `lathe generate`; prints JSON.

    lathe generate --config small.yaml --output small.h5
    python3 bench/peers/torch_dataset.py small.h5 --lathe build/bin/lathe [--rows 0 3] [--features state|step|trajectory] [--budget S] [--check] > torch.json

Weights, fields, noise scales and update rules are those of the file; drawing them is not timed. Timed are rollouts (eager, channels
first, all realizations as one batch, the generator seeded before each step, states kept in memory and copied into a batch of
operators), default features of the stored states, and the file (h5py, gzip). Written from docs/features.md and the file's
layout, not from any other program: what another one takes is not known here. --features says how states are handed to the
features: one at a time, all realizations of a step, or a whole trajectory (fastest where memory allows). --check recomputes
lathe's features from its own states (`lathe replay`) and prints the columns that differ most.
SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy as np
    import torch
    import torch_features as features
    from torch_rollout import Operator
except ImportError as error:
    sys.exit(f"torch_dataset.py: a library is not installed ({error})")


# ---- What the file says ------------------------------------------------------------------------------------
def value_of(spec, u):
    """A column's value at u of the unit cube."""
    if spec["type"] == "choice":
        weights = spec.get("weights") or [1 / len(spec["choices"])] * len(spec["choices"])
        return spec["choices"][min(int((np.cumsum(weights) <= u).sum()), len(weights) - 1)]
    low, high = spec["bounds"]
    if spec.get("log_scale"):
        return 10 ** (np.log10(low) + u * (np.log10(high) - np.log10(low)))
    return low + u * (high - low)


def rows_of(file):
    """(global row, field, parameters by name) of every operator in the file."""
    config = json.loads(file["metadata"].attrs["config"])
    space = {name: spec for part in config["parameter_space"].values() for name, spec in part.items()}
    names = [n.decode() if isinstance(n, bytes) else n for n in file["parameters"].attrs["dimension_names"]]
    number = file["status/row"][:] if "status/row" in file else np.arange(len(file["parameters/params"]))
    for i, unit in enumerate(file["parameters/params"][:]):
        row = {n: value_of(space[n], float(u)) for n, u in zip(names, unit)}
        yield int(number[i]), torch.from_numpy(file["inputs/fields"][i]), row


def weights_of(a, row, folder):
    path = os.path.join(folder, f"weights-{row}.npz")
    if not os.path.exists(path):
        subprocess.run([a.lathe, "replay", a.dataset, "--index", str(row), "--weights-out", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return {k: torch.from_numpy(v) for k, v in np.load(path).items()}


def operator_of(row, weights):
    name = row["update_policy"]
    policy = (name, row.get("alpha", 0.5) if name == "convex" else row.get("dt", 0.01))
    width = weights["stem.weight"].shape
    layers = 1 + max(int(k.split(".")[1]) for k in weights if k.startswith("blocks."))
    op = Operator(width[0], width[-1], layers, float(row["noise_scale"]), policy)
    own = {}
    for key, value in weights.items():  # lathe's ConvBlock has its weight, PyTorch's modules one inside
        parts = key.split(".")
        bare = parts[-2] in ("norm", "proj", "output")
        own[key if bare else ".".join(parts[:-1] + ["conv", parts[-1]])] = value
    op.load_state_dict(own)
    return op.eval()


# ---- The three parts ---------------------------------------------------------------------------------------
def roll(op, field, realizations, steps, seed, budget):
    """[M, T, C, H, W]: kept step by step, then copied once into the layout of a batch. Fewer steps where the budget ends."""
    end = time.perf_counter() + budget
    states = torch.empty(steps, realizations, *field.shape)
    x = field.expand(realizations, *field.shape).clone()
    states[0] = x
    with torch.no_grad():
        for t in range(1, steps):
            torch.manual_seed(seed + t)
            x = op(x)
            states[t] = x
            if time.perf_counter() > end and t >= 6:
                break
    return states[: t + 1].transpose(0, 1).contiguous()


def measured(states, how):
    """TEMPORAL [T, 63] and SUMMARY [M, 110] of a trajectory."""
    m, t = states.shape[:2]
    if how == "trajectory":
        return features.temporal(states).mean(0), features.summary(features.series(states), features.flow(states[:, :-1], states[:, 1:]))
    parts = [slice(i, i + 1) for i in range(m)] if how == "state" else [slice(0, m)]
    rows, series, flows = [], [], []
    for part in parts:
        u = states[part]
        rows.append(torch.stack([features.temporal(u[:, i]) for i in range(t)], 1))
        series.append(torch.stack([features.series(u[:, i]) for i in range(t)], 1))
        flows.append(torch.stack([features.flow(u[:, i], u[:, i + 1]) for i in range(t - 1)], 1))
    return torch.cat(rows).mean(0), features.summary(torch.cat(series), torch.cat(flows))


def write(path, params, fields, temporal, summary):
    aggregated = torch.stack([features.aggregate(s) for s in summary])
    with h5py.File(path, "w") as f:
        def put(name, data):
            f.create_dataset(name, data=np.asarray(data), chunks=tuple(data.shape), compression="gzip", compression_opts=4)
        put("parameters/params", params)
        put("inputs/fields", torch.stack(fields))
        put("features/temporal/features", torch.stack(temporal))
        put("features/summary/per_trajectory/features", torch.stack(summary))
        put("features/summary/aggregated/features", aggregated)


# ---- Are they the same features? ----------------------------------------------------------------------------
def check(a, dataset, i, row):
    """Columns of lathe's file against the same columns recomputed here from lathe's states."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.h5")
        subprocess.run([a.lathe, "replay", a.dataset, "--index", str(row), "--out", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        states = torch.from_numpy(h5py.File(path)["outputs/fields"][0])
    got = measured(states, a.features)
    for name, mine in zip(("temporal", "summary/per_trajectory"), got):
        want = dataset[f"features/{name}/features"]
        off = (mine.numpy() - want[i]).__abs__().max(0) / (abs(want[i]).max(0) + 1e-6)
        columns = want.attrs["column_names"]
        worst = np.argsort(-off)[:8]
        print(f"row {row}, {name}: " + ", ".join(f"{columns[k]} {off[k]:.1e}" for k in worst), file=sys.stderr)


def run(a, dataset, folder):
    """Times of every operator, and what the file gets: fields, TEMPORAL, SUMMARY."""
    realizations, steps = dataset["features/summary/per_trajectory/features"].shape[1], dataset["features/temporal/features"].shape[1]
    operators, kept = [], ([], [], [])
    for i, (row, field, parameters) in enumerate(rows_of(dataset)):
        if a.rows and row not in a.rows:
            continue
        if a.check:
            check(a, dataset, i, row)
            continue
        op = operator_of(parameters, weights_of(a, row, folder))
        begin = time.perf_counter()
        states = roll(op, field, realizations, steps, i, a.budget)
        rolled = time.perf_counter()
        temporal, summary = measured(states, a.features)
        end = time.perf_counter()
        done = len(temporal)
        temporal = torch.nn.functional.pad(temporal, (0, 0, 0, steps - done))
        for to, x in zip(kept, (field, temporal, summary)):
            to.append(x)
        times = {"rollout": (rolled - begin) * (steps - 1) / (done - 1), "features": (end - rolled) * steps / done}
        operators.append({"row": row, "steps_timed": done - 1, **times})
        print(f"row {row}: rollout {times['rollout']:.2f} s, features {times['features']:.2f} s, {done - 1} steps timed", file=sys.stderr)
    return operators, kept


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dataset")
    p.add_argument("--lathe", default="build/bin/lathe")
    p.add_argument("--rows", type=int, nargs="*")
    p.add_argument("--features", choices=("state", "step", "trajectory"), default="state")
    p.add_argument("--budget", type=float, default=float("inf"), metavar="S", help="a longer rollout is stopped, its time scaled to all steps")
    p.add_argument("--out", help="the file written; a temporary one otherwise")
    p.add_argument("--weights", metavar="FOLDER", help="where weights are kept for the next time; a temporary one otherwise")
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(int(os.environ.get("LATHE_THREADS", len(os.sched_getaffinity(0)))))
    dataset = h5py.File(a.dataset)
    with tempfile.TemporaryDirectory() as folder:
        operators, kept = run(a, dataset, a.weights or folder)
        if a.check:
            return
        begin = time.perf_counter()
        write(a.out or os.path.join(folder, "out.h5"), dataset["parameters/params"][: len(operators)], *kept)
        file = time.perf_counter() - begin
    total = {k: sum(o[k] for o in operators) for k in ("rollout", "features")}
    print(json.dumps({"peer": f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads", "features_of": a.features, "operators": operators,
                      "seconds": {**total, "file": file, "total": sum(total.values()) + file}}, indent=1))


if __name__ == "__main__":
    main()
