#!/usr/bin/env python3
"""Commands killed at random moments (SIGKILL): nothing is lost but the unit of work under way, and the end is the same bytes.

    torture.py LATHE [--minutes M | --kills N] [--seed S] [--log FILE]

Each case runs a command again and again, killing it after a random share of what it takes undisturbed, until it is allowed to finish.
After every kill: what lies under the output's name is whole (an older file, or readable), rows that were committed stay done, and a
later run removes what the dead one left. At the end the output equals that of an undisturbed run, byte for byte.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse, hashlib, json, os, random, shutil, signal, struct, subprocess, sys, tempfile, time

CONFIG = """metadata: {name: torture}
parameter_space:
  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 8]}, kernel_size: {type: choice, choices: [3]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}
  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [16]}}
sampling: {total_samples: 60, batch_size: 10, sobol: {seed: 3}}
simulation: {device: cpu, precision: float32, num_realizations: 2, num_timesteps: 30}
dataset: {output_path: OUT.h5, storage: {chunk_size: 4, store_trajectories: true}}
"""
# Ends by max_iterations, far enough on that there is something to kill; resuming a run that had ended ends it again.
PROBLEM = """data A = normal(160, 160, seed=1)
var x[160] = [sin(i + 1) for i in 0:160]
minimize sum(abs(A @ x - 1)) + 0.1*norm(x)
subject to
  x[0] + x[1] <= 1
"""


def write_npy(path, rows, columns):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    values = [(i * 7919 % 1009) / 400 for i in range(rows * columns)]
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dd" % len(values), *values))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Torture:
    def __init__(self, lathe, seed):
        self.lathe, self.random, self.kills, self.finished, self.faults = lathe, random.Random(seed), 0, 0, []
        self.work = tempfile.mkdtemp(prefix="lathe-torture-")
        self.environment = dict(os.environ, LATHE_CACHE=self.at("cache"))
        for name, text in (("c.yaml", CONFIG), ("p.lt", PROBLEM)):
            with open(self.at(name), "w") as f:
                f.write(text)
        write_npy(self.at("x.npy"), 1200, 9)
        write_npy(self.at("w.npy"), 3, 9)
        for i in (0, 1):
            self.run(["generate", "--config", self.at("c.yaml"), "--output", self.at("s%d.h5" % i), "--shard", "%d/2" % i, "--quiet"])
        self.run(["generate", "--config", self.at("c.yaml"), "--output", self.at("whole.h5"), "--quiet"])

    def at(self, name):
        return os.path.join(self.work, name)

    def start(self, arguments):
        return subprocess.Popen([self.lathe] + arguments, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def run(self, arguments, expected=0):
        started = time.monotonic()
        process = self.start(arguments)
        error = process.communicate(timeout=600)[1].decode(errors="replace")
        if process.returncode != expected:
            self.faults.append("%s: status %d, expected %d: %s" % (" ".join(arguments), process.returncode, expected, error[-300:]))
        return time.monotonic() - started

    def kill(self, arguments, seconds):
        """Whether the command was killed; False: it was done before."""
        process = self.start(arguments)
        try:
            error = process.communicate(timeout=self.random.uniform(0.02, 1.05) * seconds)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.kills += 1
            return True
        if process.returncode:
            self.faults.append("%s: status %d: %s" % (" ".join(arguments), process.returncode, error[-300:]))
        return False

    def done_rows(self, path):
        if not os.path.exists(path):
            return 0
        out = subprocess.run([self.lathe, "info", path, "--json"], env=self.environment, capture_output=True)
        if out.returncode:
            self.faults.append("info %s after a kill: status %d: %s" % (path, out.returncode, out.stderr.decode(errors="replace")[-300:]))
            return 0
        return find(json.loads(out.stdout), "done")

    def expect_equal(self, path, reference, what):
        self.finished += 1
        if not os.path.exists(path) or digest(path) != digest(reference):
            self.faults.append("%s: not the bytes of an undisturbed run" % what)
        left = [n for n in os.listdir(os.path.dirname(path)) if n.endswith((".tmp", ".journal"))]
        if left:
            self.faults.append("%s: left %s" % (what, left))

    def folder(self, name):
        path = self.at(name)
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
        return path

    # ---- Cases: each ends with what an undisturbed run gives ----
    def generate(self):
        out = os.path.join(self.folder("generate"), "d.h5")
        base = ["generate", "--config", self.at("c.yaml"), "--output", out, "--resume", "--quiet"]
        before = 0
        for _ in range(self.random.randint(1, 8)):
            changes = ["--threads", str(self.random.choice([1, 2])), "--batch-size", str(self.random.randint(1, 12))]
            if not self.kill(base + changes, self.seconds["generate"]):
                break
            rows = self.done_rows(out)
            if rows < before:
                self.faults.append("generate: %d rows were done, %d after another kill" % (before, rows))
            before = max(before, rows)
        self.run(base)
        self.expect_equal(out, self.at("whole.h5"), "generate --resume")

    def merge(self):
        out = os.path.join(self.folder("merge"), "m.h5")
        arguments = ["merge", "--out", out, self.at("s0.h5"), self.at("s1.h5")]
        for _ in range(self.random.randint(1, 5)):
            self.kill(arguments, self.seconds["merge"])
        self.run(arguments)
        self.expect_equal(out, self.at("whole.h5"), "merge")

    def gram(self):
        out = os.path.join(self.folder("gram"), "K.npy")
        arguments = self.gram_arguments(out)
        old = self.random.random() < 0.5
        if old:
            shutil.copy(self.at("w.npy"), out)
        for _ in range(self.random.randint(1, 4)):
            killed = self.kill(arguments, self.seconds["gram"])
            if killed and os.path.exists(out) and digest(out) not in (digest(self.at("w.npy")), digest(self.at("K.npy"))):
                self.faults.append("gram: half a matrix under its name")
        self.run(arguments)
        self.expect_equal(out, self.at("K.npy"), "gram --out")

    def gram_arguments(self, out):
        return ["gram", "--x", self.at("x.npy"), "--weights", self.at("w.npy"), "--re-embed", "--method", "states", "--device", "cpu", "--out", out, "--quiet"]

    def solve_arguments(self, folder, *more):
        return ["solve", self.at("p.lt"), "--quiet", "--set", "max_iterations=200", "--set", "stationarity_tol=1e-14", "--out", os.path.join(folder, "x.npy"),
                "--checkpoint", os.path.join(folder, "c")] + list(more)

    def solve(self):
        folder = self.folder("solve")
        kept = os.path.join(folder, "c")
        for _ in range(self.random.randint(1, 6)):
            resume = ["--resume", kept] if os.path.exists(kept) else []
            if not self.kill(self.solve_arguments(folder, *resume), self.seconds["solve"]):
                break
        self.run(self.solve_arguments(folder, *(["--resume", kept] if os.path.exists(kept) else [])))
        self.expect_equal(os.path.join(folder, "x.npy"), self.at("x_end.npy"), "solve --resume")

    def extract(self):
        out = os.path.join(self.folder("extract"), "e.h5")
        arguments = ["extract-features", self.at("whole.h5"), "--output", out, "--overwrite", "--quiet"]
        for _ in range(self.random.randint(1, 4)):
            self.kill(arguments, self.seconds["extract"])
        self.run(arguments)
        self.expect_equal(out, self.at("e_end.h5"), "extract-features")

    def prepare(self):
        """References, and how long each takes undisturbed."""
        folder = self.folder("reference")
        self.seconds = {
            "generate": self.run(["generate", "--config", self.at("c.yaml"), "--output", os.path.join(folder, "d.h5"), "--quiet"]),
            "merge": self.run(["merge", "--out", os.path.join(folder, "m.h5"), self.at("s0.h5"), self.at("s1.h5")]),
            "gram": self.run(self.gram_arguments(self.at("K.npy"))),
            "solve": self.run(self.solve_arguments(folder)),
            "extract": self.run(["extract-features", self.at("whole.h5"), "--output", self.at("e_end.h5"), "--overwrite", "--quiet"]),
        }
        shutil.copy(os.path.join(folder, "x.npy"), self.at("x_end.npy"))
        self.expect_equal(os.path.join(folder, "m.h5"), self.at("whole.h5"), "merge, undisturbed")


def find(value, key):
    """The number under `key`, wherever it stands."""
    if isinstance(value, dict):
        if isinstance(value.get(key), (int, float)):
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for v in value:
            found = find(v, key)
            if found is not None:
                return found
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("--minutes", type=float)
    p.add_argument("--kills", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--log")
    o = p.parse_args()
    end = time.monotonic() + 60 * o.minutes if o.minutes else None
    t = Torture(os.path.abspath(o.lathe), o.seed)
    try:
        t.prepare()
        names = ["generate", "merge", "gram", "solve", "extract"]
        kills_of, finished_of = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        while not t.faults and (time.monotonic() < end if end else t.kills < (o.kills or 30)):
            name = min(names, key=lambda n: kills_of[n])
            kills, finished = t.kills, t.finished
            getattr(t, name)()
            kills_of[name] += t.kills - kills
            finished_of[name] += t.finished - finished
    finally:
        if not t.faults:
            shutil.rmtree(t.work)
    lines = ["%-9s %4d kills, %3d runs finished with the bytes of an undisturbed one" % (n, kills_of[n], finished_of[n]) for n in names]
    lines += ["all       %4d kills, seed %d, %d faults" % (t.kills, o.seed, len(t.faults))] + t.faults
    print("\n".join(lines))
    if o.log:
        with open(o.log, "a") as f:
            f.write("\n".join(lines) + "\n")
    if t.faults:
        print("the files are in", t.work)
    return 1 if t.faults else 0


sys.exit(main())
