#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is to be found out on a machine with a GPU, in order of risk: tests, sanitizers, figures with their peers. About half an hour in all.

    cuda-sitting.py BUILD RESULTS [--list] [--check] [--step NAME]... [--minutes M] [--jobs N]

Each step is one command of under nine minutes, which may be run alone (--step); its output goes to RESULTS/NAME.log, JSON to RESULTS/NAME.json, and a line
about each to RESULTS/summary.txt: ok, FAILED, skipped (no GPU, no peer) or late. Without --step all run one after the other, and none begins that would not
end within --minutes. --check asks, without a GPU, whether every program, test, option and file that steps name is there. Exit status 1 when a step failed."""
import argparse, json, os, re, shutil, subprocess, sys, tempfile, time

SKIPPED, LATE = 77, 124
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIGS = os.path.join(HERE, "examples", "configs")
PEERS = os.path.join(HERE, "bench", "peers")
BASELINE = ["--config", f"{CONFIGS}/baseline_10k.yaml", "--overwrite", "--json", "--quiet", "--device", "cuda"]


class Step:
    """commands: (name, arguments, environment); {build}, {results}, {work} and {jobs} are filled in. A name of .json keeps standard output apart."""
    def __init__(self, name, minutes, why, *commands, needs=None):
        self.name, self.minutes, self.why, self.commands, self.needs = name, minutes, why, commands, needs


def tests(name, minutes, why, *names, env=None):
    return Step(name, minutes, why, (name + ".log", ["ctest", "--test-dir", "{build}", "-L", "cuda", "-R", "^(" + "|".join(names) + ")$", "-j", "{jobs}", "--output-on-failure"], env or {}))


def sanitizer(name, minutes, tool, only, why):
    return Step(name, minutes, why, (name + ".log", [sys.executable, f"{HERE}/scripts/sanitize-cuda.py", "{build}", "{results}/" + name + ".txt", "--tools", tool, "--only", only, "--seconds", "200",
                                                     "--jobs", "{jobs}"], {}), needs="compute-sanitizer")


def generate(name, rows, env=None, *more):
    return name + ".json", ["{build}/bin/lathe", "generate", *BASELINE, "--total-samples", str(rows), "--output", "{work}/" + name + ".h5", *more], env or {}


def lathe(name, *argv, env=None):
    return name, ["{build}/bin/lathe", *argv], env or {}


def bench(name, *argv, env=None):
    return name + ".json", ["{build}/bin/lathe-bench", *argv, "--json", "--quiet", "--device", "cuda"], env or {}


def peer(name, script, *argv):
    return name + ".json", [sys.executable, f"{PEERS}/{script}", *argv], {}


EMPTY = {"LATHE_CACHE": "{work}/empty"}
STEPS = [
    Step("machine", 1, "what is here", lathe("doctor.log", "doctor"), lathe("devices.log", "devices")),
    Step("card", 1, "the card and its driver", ("card.log", ["nvidia-smi"], {}), needs="nvidia-smi"),
    tests("tests-new", 9, "kernels that never ran on a card: steps by mma.sync, circuits, states", "fused_device", "circuit_cuda", "rollout_device"),
    tests("tests-core", 9, "the device and its ops, whose code moved since", "cuda", "cuda_fault", "cuda_fused", "cuda_choose", "cuda_ops_.*", "cuda_graph_.*"),
    tests("tests-engines", 9, "the engines", "gram_device", "cuda_solve", "generate_device", "feature_device"),
    sanitizer("memcheck-new", 9, "memcheck", "fused_device|circuit_cuda|rollout_device", "addresses of the new kernels"),
    sanitizer("racecheck-new", 9, "racecheck", "fused_device|circuit_cuda", "shared memory of the new kernels"),
    Step("cold-start", 3, "8 operators in 6 s with an empty cache, 40 in 12 s; a warm one", generate("cold-8", 8, EMPTY), generate("warm-8", 8, EMPTY),
         generate("cold-40", 40, {"LATHE_CACHE": "{work}/empty-40"}), generate("warm-40", 40, {"LATHE_CACHE": "{work}/empty-40"})),
    Step("cold-small", 3, "48 small operators in float32, which took 54 s",
         ("small.json", ["{build}/bin/lathe", "generate", "--config", f"{HERE}/tests/operators/side_by_side.yaml", "--device", "cuda", "--total-samples", "48", "--overwrite", "--json", "--quiet",
                         "--output", "{work}/small.h5"], {"LATHE_CACHE": "{work}/empty-small"})),
    Step("operator", 6, "the reference operator in four precisions; tf32 0.75 s, float32 1.9 s, float16 0.34 s", bench("operator", "generate")),
    Step("operator-mma", 6, "the same forced to the kernels for every card: 1.25 of the graph", bench("operator-mma", "generate", env={"LATHE_CUDA_STEP": "mma"})),
    Step("operator-graph", 6, "the compiled graph that they replace", bench("operator-graph", "generate", env={"LATHE_CUDA_STEP": "graph"})),
    Step("operator-peer", 6, "the same in PyTorch", peer("operator-torch", "torch_rollout.py", "--device", "cuda", "--compile"), needs="python:torch"),
    Step("accuracy", 6, "errors of one step against those of the CPU", bench("accuracy", "generate", "--accuracy", "8"), bench("accuracy-mma", "generate", "--accuracy", "8", env={"LATHE_CUDA_STEP": "mma"})),
    Step("solve", 9, "what an iteration takes beyond the function: 60 us", bench("solve", "solve")),
    Step("start", 1, "the start of a process; a problem of 16 ms on the CPU", *[lathe(f"start-{i}.log", "solve", "example:A1", "--device", "cuda", "--quiet") for i in range(1, 6)],
         lathe("start-trace.log", "solve", "example:A1", "--device", "cuda", "--quiet", "--profile", "{work}/start.json")),
    Step("gram", 9, "the promised rows of Gram matrices", bench("gram", "gram", "--sweep", "targets")),
    Step("gram-peer", 6, "the same in PyTorch", peer("gram-torch", "torch_gram.py"), needs="python:torch"),
    Step("circuits", 6, "zz of 16 qubits and 20000 rows, states at most 5 % of the call; errors that do not grow with q",
         *[(f"zz-{q}-{dtype}-{dev}.json", ["{build}/bin/lathe", "gram", "--x", "{work}/x" + f"{q}-{n}.npy", "--map", "zz(reps=2)", "--dtype", dtype, "--device", dev, "--out",
                                           "{work}/" + f"zz-{q}-{n}-{dtype}-{dev}.npy", "--json", "--quiet"], {})
           for q, n in ((8, 4000), (16, 20000), (18, 60), (20, 60)) for dtype in ("float64", "float32") for dev in ("cuda", "cpu") if not (dev == "cpu" and n > 100)]),
    Step("gradient", 3, "training a kernel on the card", ("train.json", ["{build}/bin/lathe", "train-kernel", "--x", "{work}/x8-400.npy", "--labels", "{work}/y400.npy", "--map",
                                                              "strong(layers=3, reupload=true)", "--device", "cuda", "--out", "{work}/w.npy", "--json", "--quiet"], {})),
    sanitizer("memcheck-all", 9, "memcheck", ".", "addresses of everything"),
    Step("long-run", 9, "1000 operators, the last hundred as fast as the first, memory flat", 
         ("long.json", ["{build}/bin/lathe", "generate", *BASELINE, "--total-samples", "1000", "--record-times", "--output", "{results}/long.h5"], {})),
]


def make_inputs(work):
    """Angles and labels as files, without NumPy: the machine may lack it."""
    import random, struct
    def npy(path, rows, columns, value):
        head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }" % (f"{rows}," if columns == 0 else f"{rows}, {columns}")
        head += " " * (-(10 + len(head) + 1) % 64) + "\n"
        with open(path, "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            f.write(struct.pack(f"<{rows * max(columns, 1)}d", *[value(i) for i in range(rows * max(columns, 1))]))
    for q, n in ((8, 4000), (16, 20000), (18, 60), (20, 60), (8, 400)):
        r = random.Random(q)
        npy(f"{work}/x{q}-{n}.npy", n, q, lambda i: r.uniform(-1, 1))
    npy(f"{work}/y400.npy", 400, 0, lambda i: 1.0 if i * 7919 % 13 < 6 else -1.0)


def fill(words, places):
    return [w.format_map(places) if "{" in w and not w.startswith("^") else w for w in words]


def missing(needs):
    if not needs:
        return None
    if needs.startswith("python:"):
        found = subprocess.run([sys.executable, "-c", "import " + needs[7:]], capture_output=True).returncode == 0
        return None if found else f"no {needs[7:]} here"
    return None if shutil.which(needs) else f"no {needs} here"


def outcome(status, log):
    with open(log, errors="replace") as f:
        said = f.read()
    if status == 0 and re.search(r"100% tests passed.*\n(.*\n)*The following tests did not run", said):
        return "skipped"
    return {0: "ok", SKIPPED: "skipped", LATE: "late", 137: "late"}.get(status, "FAILED")


def run_step(step, places, say):
    reason = missing(step.needs)
    if reason:
        say(f"{'skipped':8} {step.name}: {reason}")
        return "skipped"
    worst, left = "ok", 60 * step.minutes
    for name, argv, env in step.commands:
        log = os.path.join(places["results"], re.sub(r"\.json$", "", name) + ("" if name.endswith(".log") else ".log"))
        begin = time.monotonic()
        with open(log, "w") as err, (open(os.path.join(places["results"], name), "w") if name.endswith(".json") else err) as out:
            full = dict(os.environ, **{k: v.format_map(places) for k, v in env.items()})
            status = subprocess.run(["timeout", "-k", "5", str(max(1, int(left))), *fill(argv, places)], stdout=out, stderr=err, env=full, cwd=places["work"]).returncode
        seconds = time.monotonic() - begin
        left -= seconds
        verdict = outcome(status, log)
        say(f"{verdict:8} {step.name}: {name}: {seconds:.1f} s, status {status}")
        if verdict in ("FAILED", "late"):
            worst = "FAILED"
        elif verdict == "skipped" and worst == "ok":
            worst = "skipped"
    return worst


def cuda_tests(build):
    """Names, asked from a folder of its own: even a list replaces the log of the tests that run in the build folder."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w") as f:
            f.write(f'subdirs("{build}")\n')
        listed = subprocess.run(["ctest", "--test-dir", folder, "-N", "-L", "cuda"], capture_output=True, text=True).stdout
    return re.findall(r"Test +#\d+: (\S+)", listed)


def check(places):
    """What steps name is there: programs, tests, options of lathe, files."""
    wrong = []
    known = cuda_tests(places["build"])
    tested = set()
    pages = {}
    for step in STEPS:
        if step.minutes > 9:
            wrong.append(f"{step.name}: {step.minutes} minutes")
        for name, argv, env in step.commands:
            argv = fill(argv, places)
            if argv[0] == "ctest":
                for part in argv[argv.index("-R") + 1][2:-2].split("|"):
                    found = [t for t in known if re.fullmatch(part, t)]
                    tested.update(found)
                    if not found:
                        wrong.append(f"{step.name}: no test {part}")
            elif argv[0].startswith(places["build"]):
                page = (argv[0], argv[1])
                if page not in pages:
                    pages[page] = subprocess.run([*page, "--help"], capture_output=True, text=True).stdout
                for option in argv[2:]:
                    if option.startswith("--") and not re.search(rf"{option}\b", pages[page]):
                        wrong.append(f"{step.name}: {os.path.basename(page[0])} {page[1]} has no {option}")
            for word in argv:
                if word.startswith(HERE) and not word.startswith((places["build"], places["results"])) and not os.path.exists(word):
                    wrong.append(f"{step.name}: {word} is not there")
    wrong += [f"no step runs the test {t}" for t in known if t not in tested]
    for line in wrong:
        print("cuda-sitting:", line, file=sys.stderr)
    return 1 if wrong else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("build")
    ap.add_argument("results", nargs="?", default="cuda-results")
    ap.add_argument("--list", action="store_true", help="the steps, and what each is for")
    ap.add_argument("--check", action="store_true", help="whether everything that steps name is there")
    ap.add_argument("--step", action="append", help="only this one (may be given several times)")
    ap.add_argument("--minutes", type=float, default=1e9, help="for all steps together")
    ap.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 1))
    a = ap.parse_args()
    if a.list:
        for s in STEPS:
            print(f"{s.name:16} {s.minutes} min  {s.why}")
        return 0
    unknown = [n for n in a.step or [] if n not in {s.name for s in STEPS}]
    if unknown:
        print(f"cuda-sitting: no step is called {unknown[0]}: see --list", file=sys.stderr)
        return 2
    build, results = os.path.abspath(a.build), os.path.abspath(a.results)
    work = os.path.join(results, "work")
    places = {"build": build, "results": results, "work": work, "jobs": str(a.jobs)}
    if a.check:
        return check(places)
    os.makedirs(work, mode=0o700, exist_ok=True)
    make_inputs(work)
    end, failed = time.monotonic() + 60 * a.minutes, 0
    with open(os.path.join(results, "summary.txt"), "a") as summary:
        def say(line):
            print(line, flush=True)
            summary.write(line + "\n")
            summary.flush()
        commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "unknown"
        say(f"commit {commit}, {time.strftime('%Y-%m-%d %H:%M:%S')}, load {os.getloadavg()[0]:.1f}")
        for step in STEPS:
            if a.step and step.name not in a.step:
                continue
            if time.monotonic() + 60 * step.minutes > end:
                say(f"left out {step.name}: it may take {step.minutes} min")
                continue
            failed += run_step(step, places, say) == "FAILED"
    shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
