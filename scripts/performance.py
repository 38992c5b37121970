#!/usr/bin/env python3
"""The tables of docs/performance.md and README.md from bench/results: performance.py [--check]. SPDX-License-Identifier: BSD-3-Clause

A table stands between <!-- NAME --> and <!-- end -->, where NAME is a function below. Without --check the files are written; with it, exit
status 1 when a file is not what would be written."""
import json, pathlib, re, statistics, sys

root = pathlib.Path(__file__).resolve().parent.parent
pages = [root / "docs/performance.md", root / "README.md"]


def load(name): return json.loads((root / "bench/results" / f"{name}.json").read_text())


def digits(x):
    """Three significant digits, without an exponent."""
    for places in range(0, 6):
        if abs(x) >= 10 ** (2 - places): return f"{x:.{places}f}"
    return f"{x:.3g}"


def time(seconds):
    if seconds is None: return ""
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 0.9995: return f"{digits(seconds * scale)} {unit}"
    return f"{digits(seconds * 1e9)} ns"


def ratio(x): return "" if x is None else f"{digits(x)}x"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows])


def origin(*names):
    """Which files a table comes from, and on what they were measured."""
    parts = []
    for name in names:
        d = load(name)
        machine = d.get("machine", "")
        if isinstance(machine, dict): machine = machine["name"] + (f", {machine['cores']} cores" if machine.get("device") == "cpu" else "")
        commit = f", commit {d['commit'].split('-')[0]}" if re.fullmatch(r"[0-9a-f]{7,}(-dirty)?", d.get("commit", "")) else ""
        parts.append(f"`bench/results/{name}.json` ({machine}{commit}{', ' + d['peer'] if d.get('peer') else ''})")
    return "From " + " and ".join(parts) + "."


def solve_cpu():
    rows = []
    for r in load("solve-runs")["rows"]:
        once = r["run_seconds"] if r["name"] != "A2full" else r["seconds"]
        lower = f"{r['peer_lower_f']:.6g}; " + (f"to it {ratio(r['peer_ratio_to_its_f'])}" if r["peer_ratio_to_its_f"] else "not reached") if r["peer_lower_f"] is not None else ""
        read, call = r["read_seconds"], r["first_seconds"] # PyGRANSO's time is of one iteration in A2full, and never has the making of its data
        compared = r["peer_seconds"] and r["name"] != "A2full"
        first, whole = (ratio(r["peer_seconds"] / call), ratio(r["peer_seconds"] / (read + call))) if compared else ("", "")
        rows.append([r["name"], r["what"], r["n"], r["p"] + r["q"], r["iterations"], time(once), time(call), time(read), time(r["peer_seconds"]), ratio(r["peer_ratio"]), first, whole, f"{r['f']:.6g}", lower])
    return origin("solve-runs") + "\n\n" + table(["run", "problem", "variables", "constraints", "iterations", "lathe", "first call", "reading", "PyGRANSO", "faster", "first call faster", "with reading", "f", "PyGRANSO's f where lower"], rows)


def solve_h200():
    d = load("solve-h200")
    slow, fast = ({r["name"]: r for r in d[k]["rows"]} for k in ("rows", "rows_faster_host"))
    cell = lambda r: f"{digits(r['overhead_microseconds_per_iteration'])} ({r['verdict']})" if r["overhead_microseconds_per_iteration"] > 0 else f"below 0 ({r['verdict']})"
    rows = [[n, r["what"], digits(r["microseconds_per_iteration"]), cell(r), cell(fast[n]), r["limit_microseconds"]] for n, r in slow.items()]
    return ("From `bench/results/solve-h200.json` (NVIDIA H200; two hosts, of which the second is faster). Overhead is the time of an iteration less that of the "
            "function's kernels.\n\n" + table(["run", "problem", "us per iteration", "overhead, us", "on the faster host", "limit"], rows))


def in_turns():
    """Seconds of lathe and of PyTorch, medians of the rounds, and the ratio of each round, lowest first: eight operators, row by row in turn."""
    rounds = load("generate-dataset-turns")["rounds"]
    return *(statistics.median(r["seconds"][who]["total"] for r in rounds) for who in ("lathe", "torch")), sorted(r["ratio"]["total"] for r in rounds)


def generate_cpu():
    d, whole = load("generate-2-cores"), load("generate-dataset-2-cores")
    lathe, _, ratios = in_turns()
    rows = [[f"one step, {d['realizations_timed']} realizations, {r['precision']}", time(r["seconds"]), ratio(r["torch_eager_ratio"]), ratio(r["torch_best_ratio"])] for r in d["precisions"]]
    rounds = sorted(r["ratio"] for r in whole["rounds"])
    rows.append(["8 operators, 64 x 64, 100 states, 3 realizations, features and file", time(whole["lathe_seconds"]["total"]), f"{ratio(rounds[0])} to {ratio(rounds[-1])}", ""])
    rows.append(["the same on an AMD EPYC", time(lathe), f"{ratio(ratios[0])} to {ratio(ratios[-1])}", ""])
    return origin("generate-2-cores", "generate-dataset-2-cores", "generate-dataset-turns") + "\n\n" + table(["work", "lathe", "PyTorch eager is slower by", "best of PyTorch by"], rows)


def torch_rollout():
    """PyTorch's seconds for 499 steps: eager, compiled."""
    peer = load("rollout-kernels-h200")["peer_3dcd0bc"]
    return [499 * peer[f"float16_{how}_step_seconds"] for how in ("eager", "compiled")]


def generate_h200():
    d = load("generate-h200")
    eager, compiled = torch_rollout()
    rows = []
    for r in d["precisions"]:
        half = r["precision"] == "float16"
        rows.append([f"5 realizations x 500 states, {r['precision']}", time(r["seconds"]), digits(r["sample_steps_per_second"]), digits(r["tflops"]), time(eager) if half else "", time(compiled) if half else ""])
    text = table(["reference operator, 128 x 128", "lathe", "sample-steps/s", "TFLOP/s", "PyTorch eager", "torch.compile"], rows)
    g = {r["name"]: r for r in d["datasets_again"]["generation"]}["as usual"]
    return (origin("generate-h200") + " PyTorch's steps are from `bench/results/rollout-kernels-h200.json`, another run on a machine of the same kind.\n\n" + text
            + f"\n\nIn a dataset, features add {digits(100 * g['added_by_features'])} % and the device is idle for {digits(100 * g['device_idle'])} % of the time.")


def gram_h200():
    rows = []
    for r in load("gram-targets-h200")["rows"]:
        must = "" if r.get("must_seconds") is None else f"{time(r['must_seconds'])}: {'met' if r['met'] else 'missed'}"
        rows.append([r["row"], r["n"], time(r["seconds"]), time(r.get("peer_seconds")), ratio(r["peer_seconds"] / r["seconds"]) if r.get("peer_seconds") else "", must])
    stores = load("gram-stores-h200")["seconds"]
    newer = ", ".join(f"{time(min(s[k] for s in stores))} for {k}" for k in stores[0] if k != "stores")
    return (origin("gram-targets-h200") + "\n\n" + table(["row", "N", "lathe", "PyTorch", "faster", "limit"], rows)
            + f"\n\nOther ways to store K, measured later, reach {newer} (`bench/results/gram-stores-h200.json`).")


def gram_cpu():
    d = load("gram-peers")
    versions = ", ".join(f"{k} {v}" for k, v in d["versions"].items())
    rows = [[r["row"], r["n"], r["q"], time(r["lathe_seconds"]), time(r["peer_seconds"]), ratio(r["ratio"])] for r in d["rows"]]
    return f"From `bench/results/gram-peers.json` (CPU, 2 cores; {versions}).\n\n" + table(["row", "N", "qubits", "lathe", "peer", "faster"], rows)


def circuits_cpu():
    d = load("circuits-peers")
    versions = ", ".join(f"{k} {v}" for k, v in d["versions"].items())
    head = ["row", "N", "qubits", "lathe", "peer", "", "faster", "by cores' time", "target"]
    rows = [[r["row"], r["n"], r["q"], time(r["lathe_seconds"]), time(r["peer_seconds"]), r["peer"], ratio(r["ratio"]), ratio(r.get("cores_ratio")), ratio(r["target"])] for r in d["rows"]]
    gradient = next(r for r in d["rows"] if "over_its_kernel" in r)
    trained = next(r for r in d["rows"] if "alignment" in r)
    bound = next(r for r in d["rows"] if "of_bound" in r)
    quiet = d["load_before"] < 1
    words = ("" if quiet else f"Other work ran on the machine (load {digits(d['load_before'])} to {digits(d['load'])} on {d['machine']['cores']} cores), which the clock counts and the cores' time does not. ")
    words += (f"The gradient takes {digits(gradient['over_its_kernel_cores'])} times the kernel by the cores' time (target 4, by the clock {digits(gradient['over_its_kernel'])}). Passes of unfused gates over "
              f"states of 16 wires would take {time(bound['unfused_bandwidth_bound_seconds'])} at the bandwidth of a copy. Training ends at an alignment of {trained['alignment']:.4f}, Adam at {trained['peer_alignment']:.4f}.")
    words += "".join(f" {100 * r['max_difference']:.3g} % of the labels of {r['row']} differ." for r in d["rows"] if r["peer"] == "scikit-learn")
    return origin("circuits-peers") + f" {versions}.\n\n" + table(head, rows) + "\n\n" + words


def auto_cpu():
    d = load("gram-auto")
    beyond = [f"{r['dtype']}, {r['qubits']} qubits, {r['n']} rows: {ratio(r['ratio'])}" for r in d["rows"] if r["ratio"] > 1.1]
    near = sum(1.1 >= r["ratio"] for r in d["rows"])
    rows = [[r["dtype"], r["qubits"], r["n"], time(r["states_s"]), time(r["transfer_s"]), r["best"], r["chosen"], ratio(r["ratio"])] for r in d["rows"] if max(r["states_s"], r["transfer_s"]) < 2.5 * min(r["states_s"], r["transfer_s"])]
    return (origin("gram-auto") + f" At {near} of {len(d['rows'])} points the choice is within a tenth of the best" + (f"; not at {'; '.join(beyond)}" if beyond else "") + ". Those where the two are close:\n\n"
            + table(["precision", "qubits", "rows", "states", "transfer", "best", "auto", "auto / best"], rows))


def qsvm_cpu():
    rows = [[r["name"], r["method"], time(r["kernel_seconds"]), time(r["total_seconds"]), f"{r['f1']:.3f}", f"{r['roc_auc']:.4f}"] for r in load("qsvm")["rows"]]
    return origin("qsvm") + "\n\n" + table(["run", "method", "kernel", "whole run", "F1", "ROC AUC"], rows)


def graph_rows(name):
    rows = []
    for r in load(name)["rows"]:
        beside = f"{ratio(r['yardstick_ratio'])} of {r['yardstick']}" if r["yardstick_ratio"] is not None else ""
        rows.append([r["what"], time(r["seconds"]), ratio(r["peer_ratio"]), beside, r["verdict"]])
    return origin(name) + "\n\n" + table(["work", "lathe", "against PyTorch", "against a yardstick", "target"], rows)


def graph_cpu(): return graph_rows("graph-2-cores")
def graph_h200(): return graph_rows("graph-h200")


def readme():
    """One row for each engine on the CPU and on a GPU."""
    solve = {r["name"]: r for r in load("solve-runs")["rows"]}
    (lathe, pytorch, _), torch = in_turns(), torch_rollout()
    gram = {r["row"]: r for r in load("gram-targets-h200")["rows"]}["call q=16 N=20000"]
    half = load("generate-h200")["precisions"][0]
    pennylane = [r for r in load("gram-peers")["rows"] if "PennyLane" in r["row"] and r["q"] == 12][0]
    rows = [[f"solve: {solve[n]['what']}", "1 core", time(solve[n]["run_seconds"]), f"PyGRANSO {time(solve[n]['peer_seconds'])}", ratio(solve[n]["peer_ratio"])] for n in ("A1a", "C2", "A3", "D1v")]
    rows.append(["generate: 8 operators, 64 x 64, with features and file", "2 cores", time(lathe), f"PyTorch {time(pytorch)}", ratio(pytorch / lathe)])
    rows.append(["generate: one operator, 128 x 128, 5 x 500 states, float16", "H200", time(half["seconds"]), f"torch.compile {time(torch[1])}", ratio(torch[1] / half["seconds"])])
    rows.append([f"gram: states of {pennylane['n']} rows, {pennylane['q']} qubits", "2 cores", time(pennylane["lathe_seconds"]), f"PennyLane {time(pennylane['peer_seconds'])}", ratio(pennylane["ratio"])])
    rows.append(["gram: 20000 rows, 16 qubits, float64, in host memory", "H200", time(gram["seconds"]), f"PyTorch {time(gram['peer_seconds'])}", ratio(gram["peer_seconds"] / gram["seconds"])])
    return table(["work", "on", "lathe", "peer", "faster"], rows)


def filled(text):
    put = lambda m: f"<!-- {m[1]} -->\n{globals()[m[1]]()}\n<!-- end -->"
    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end -->", put, text, flags=re.S)


def main(check):
    stale, blocks = [], 0
    for page in pages:
        text = page.read_text()
        blocks += len(re.findall(r"<!-- end -->", text))
        if filled(text) == text: continue
        stale.append(str(page.relative_to(root)))
        if not check: page.write_text(filled(text))
    if blocks < 10: sys.exit(f"performance.py: only {blocks} tables found")
    if check and stale: sys.exit(f"not what bench/results say: {', '.join(stale)}; run scripts/performance.py")
    print(f"{blocks} tables, {'written: ' + ', '.join(stale) if stale else 'all up to date'}")


main(sys.argv[1:] == ["--check"])
