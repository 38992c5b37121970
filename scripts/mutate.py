#!/usr/bin/env python3
"""Small faults put into the sources one at a time: do the tests of their layer find them?

    mutate.py [--build build] [--sample 50] [--seed 1] [--minutes M] [--log bench/results/mutants.txt] [LAYER-OR-PATH...]

Lines of src/ are drawn evenly, each gets one change that a tired programmer might make (< for <=, a negated condition, a constant off by
one, a statement left out), and the tests of the layer are run: those named like the file first, then the quick ones; the first that fails
ends it. A mutant that does not compile, or whose object is the same bytes as before, does not count. Survivors are listed with their
lines: each is a test that is missing, or a change that changes nothing. Of those someone has looked at, tests/mutants-equal.txt keeps the
line, the change and why no test can see it; they count for neither side.

Works in a copy of the tree, BUILD-mutants, which is kept with the times of its tests: a mutant costs one object, the links of its tests and
their time. With --log the
result is added to that file, under the commit, the machine and the seed. SPDX-License-Identifier: BSD-3-Clause"""
import argparse, collections, fcntl, json, os, platform, random, re, shutil, signal, subprocess, sys, time

# Tests by the layer they are named after in tests/: what is run for a mutant of src/<layer>.
TESTS = {
    "base": "^(base_|fuzz_(csv|npy|npz|options)|json$|trace$|crafted$)", "trace": "^(trace|json|fuzz_json)$", "report": "^report$", "tune": "^(tune|trial|fuzz_tune)$",
    "device": "^(device|device_core|memory|null|stream|cuda_fake|cuda_fault)$",
    "kernels": "^(fused|fused_cases|ops_.*|vec|openblas|trial|hessenberg_qr|conv_tiles|conv_f32|kernel_builder|op_files|cuda_(table|fake|handles|compile|fused|ops_.*)|graph_(ops|grad|fuzz|ops_plain|ops_avx2))$",
    "graph": "^(graph_.*|cuda_choose|solve_kernels_on_host)$",
    "optimize": "^(solve|solve_(codes|products|patience|parts|samples|memory|console|device|device_hessian|vectors|steps|kernels_on_host)|qp|qp_hard|nl|language.*|checkpoint|convex|literature|fuzz_(language|checkpoint|nl))$",
    "qkernel": "^(gram.*|qsvm.*|circuit.*|qasm|fuzz_(qsvm_model|cache|qasm))$",
    "operators": "^(store|dataset.*|crafted|generate|generate_device|operator_.*|rollout.*|sampling|initial_fields|feature_.*|fused_(kernels|ends|step|compile|device)|yaml|image|learned|watchdog|fuzz_(config|journal|worker|hdf5))$",
}

SWAPS = [  # (pattern, replacements): one place of one line is changed
    (r"<=", ["<"]), (r">=", [">"]), (r"(?<![<\-])<(?![<=])", ["<="]), (r"(?<![>\-])>(?![>=])", [">="]), (r"==", ["!="]), (r"!=", ["=="]),
    (r"&&", ["||"]), (r"\|\|", ["&&"]), (r"(?<=[\w)\]] )\+(?= [\w(])", ["-"]), (r"(?<=[\w)\]] )-(?= [\w(])", ["+"]), (r"(?<=[\w)\]] )\*(?= [\w(])", ["+"]),
    (r"\+\+", ["--"]), (r"\bif \((?=[^;]*\))", ["if (!(%)) "]), (r"\b0\b", ["1"]), (r"\b1\b", ["2", "0"]), (r"\btrue\b", ["false"]), (r"\bfalse\b", ["true"]),
    (r"\breturn LT_OK;", ["return LT_ERR_INTERNAL;"]), (r"\bcontinue;", [";"]), (r"\bbreak;", [";"]), (r"\bLT_MIN\b", ["LT_MAX"]), (r"\bLT_MAX\b", ["LT_MIN"]),
]
STATEMENT = re.compile(r"^\s+(?=\S)(?!return\b|case\b|default\b|break\b|continue\b|else\b|goto\b|(?:const |static |u?int\w* |double |float |char |bool |size_t |lt_\w+ [*a-z]|struct |enum |FILE |void |\w+ \**\w+(?: =|;|,|\[))).*;\s*(/\*.*\*/)?$")
SKIP = re.compile(r"^\s*(#|/?\*|//|\}|\{|_Static_assert|typedef|extern)")


def negated(line, at):
    """if (CONDITION) with its condition turned round, or None when the parentheses do not close in the line."""
    start, depth = at + 4, 1
    for i in range(start, len(line)):
        depth += {"(": 1, ")": -1}.get(line[i], 0)
        if depth == 0:
            return line[:start] + "!(" + line[start:i] + ")" + line[i:]
    return None


def code_of(text):
    """The lines of a file, what stands in comments and texts blanked out: a change there is none."""
    blank = lambda m: re.sub(r"[^\n]", "\0", m.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S).splitlines(keepends=True)


def mutants_of(line, code):
    if SKIP.match(line) or not code.strip(" \t\n\0"):
        return []
    out = []
    for pattern, replacements in SWAPS:
        for m in re.finditer(pattern, code):
            for r in replacements:
                changed = negated(line, m.start()) if "%" in r else line[:m.start()] + r + line[m.end():]
                if changed and changed != line:
                    out.append(changed)
    if STATEMENT.match(line):
        out.append(re.match(r"\s*", line).group() + ";\n")
    return out


def layer_of(path):
    return path.split("/")[1]


def draw(root, wanted, rng):
    lines = []
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not name.endswith(".c") or layer_of(path) not in TESTS or (wanted and not any(path.startswith("src/" + w + "/") or path.startswith(w) for w in wanted)):
                continue
            with open(os.path.join(root, path)) as f:
                text = f.read()
            lines += [(path, i) for i, (line, code) in enumerate(zip(text.splitlines(keepends=True), code_of(text))) if mutants_of(line, code)]
    lines.sort()
    rng.shuffle(lines)
    return lines


class Tree:
    """A copy of the sources with a build folder of its own. Files that did not change keep their times, so a later run builds little."""

    def __init__(self, build, jobs):
        self.root, self.build, self.jobs = os.path.abspath(build) + "-mutants", "build", jobs
        os.makedirs(self.root, exist_ok=True)
        self.lock = open(os.path.join(self.root, "lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX) # one at a time: a second run waits
        self.copy()
        if not os.path.exists(os.path.join(self.root, self.build, "build.ninja")):
            self.run(["cmake", "-G", "Ninja", "-S", ".", "-B", self.build], check=True)
        self.run(["ninja", "-C", self.build, "build.ninja"], check=True)
        self.programs = self.run(["ninja", "-C", self.build, "-t", "targets", "all"], check=True).stdout
        self.times = os.path.join(self.root, "times.json") # of an earlier run: the tests passed then
        self.seconds = json.load(open(self.times)) if os.path.exists(self.times) else {}
        self.list_tests()

    def list_tests(self):
        """A test has a command once its program is built."""
        listing = self.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"], check=True, stderr=subprocess.DEVNULL).stdout
        self.tests = {t["name"]: t for t in json.loads(listing)["tests"]}

    def copy(self):
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
        for name in names:
            to = os.path.join(self.root, name)
            if not os.path.isfile(name) or (os.path.exists(to) and open(name, "rb").read() == open(to, "rb").read()):
                continue
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(name, to)
            shutil.copymode(name, to)

    def run(self, command, timeout=None, check=False, stderr=subprocess.STDOUT):
        return subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=stderr, timeout=timeout, text=True, check=check)

    def keep_times(self):
        with open(self.times, "w") as f:
            json.dump(self.seconds, f)

    def tests_of(self, layer):
        return [n for n in self.tests if re.search(TESTS[layer], n)]

    def ninja(self, targets):
        return self.run(["ninja", "-C", self.build, "-j", str(self.jobs)] + targets).returncode == 0

    def link(self, tests):
        wanted = {os.path.basename(self.tests[t].get("command", ["test_" + t])[0]) for t in tests}
        known = re.findall(r"^bin/(\S+):", self.programs, re.M)
        return self.ninja(["bin/" + k for k in known if k in wanted])

    def objects_of(self, path):
        layer, rest = path.split("/", 2)[1:] # layers have files of one name
        return re.findall(r"^(src/%s/CMakeFiles/[^/]+\.dir/%s\.o):" % (layer, re.escape(rest)), self.programs, re.M)

    def bytes_of(self, objects):
        return [open(os.path.join(self.root, self.build, o), "rb").read() for o in objects]

    def passes(self, name, limit):
        test = self.tests[name]
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        environment = dict(os.environ, **dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])))
        folder = properties.get("WORKING_DIRECTORY", os.path.join(self.root, self.build))
        began = time.monotonic()
        child = subprocess.Popen(test["command"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True)
        try:
            status = child.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9) # the test's own group, made above
            child.wait()
            return False
        self.seconds.setdefault(name, time.monotonic() - began)
        return status in (0, 77)

    def order(self, tests, path):
        """Tests whose name shares a word with the file come first, then the quick ones. The long ones of the rest are left out: what they
        alone would find counts as a survivor (decision 232)."""
        words = set(re.split(r"[_/.]", path.split("/", 1)[1])) - {"c"}
        shared = lambda t: len(words & set(t.split("_")))
        return sorted((t for t in tests if self.seconds[t] <= self.longest or shared(t)), key=lambda t: self.seconds[t] / (1 + 8 * shared(t)))

    def killer(self, tests, path):
        """The first test that fails, or None. Programs are linked a few at a time: most mutants fall early."""
        ordered, at, n = self.order(tests, path), 0, 2
        while at < len(ordered):
            some = ordered[at:at + n]
            if not self.link(some):
                return "the link"
            for t in some:
                if not self.passes(t, 10 + 6 * self.seconds[t]):
                    return t
            at, n = at + n, 2 * n
        return None


def judge(tree, path, number, mutant, original, tests):
    lines = original.splitlines(keepends=True)
    lines[number] = mutant
    full, objects = os.path.join(tree.root, path), tree.objects_of(path)
    if not objects:
        return "invalid", None # not built on this machine
    before = tree.bytes_of(objects)
    with open(full, "w") as f:
        f.writelines(lines)
    try:
        if not tree.ninja(objects):
            return "invalid", None
        if tree.bytes_of(objects) == before:
            return "equal", None
        killer = tree.killer(tests, path)
        return ("killed", killer) if killer else ("survived", None)
    finally:
        with open(full, "w") as f:
            f.write(original)
        tree.ninja(objects)


def known_equal():
    """(path, line, mutant) of the changes that change nothing, from the list kept with the tests: four lines each, the last says why."""
    name, out = "tests/mutants-equal.txt", {}
    if os.path.exists(name):
        with open(name) as f:
            blocks = re.split(r"\n\s*\n", "".join(l for l in f if not l.startswith("#")))
        for b in blocks:
            part = [l.strip() for l in b.strip().splitlines()]
            if len(part) == 4:
                out[tuple(part[:3])] = part[3]
    return out


def prepare(tree, layer):
    tests = tree.tests_of(layer)
    print("%s: %d tests" % (layer, len(tests)), flush=True)
    if not tree.link(tests):
        sys.exit("the tests of %s do not build" % layer)
    tree.list_tests()
    tests = [t for t in tests if "command" in tree.tests[t]]
    bad = [t for t in tests if t not in tree.seconds and not tree.passes(t, 600) and not tree.passes(t, 600)]
    tree.keep_times()
    if bad:
        print("these do not pass as they are and are left out: " + ", ".join(bad), flush=True)
    tests = [t for t in tests if t not in bad]
    print("%s: %.0f s for all of them" % (layer, sum(tree.seconds[t] for t in tests)), flush=True)
    return tests


def summary(counts):
    lines, all_of = [], collections.Counter()
    for layer, c in sorted(counts.items()):
        all_of.update(c)
    for layer, c in sorted(counts.items()) + ([("all", all_of)] if len(counts) > 1 else []):
        lines.append("%-10s %3d killed, %3d survived: %3.0f %%   (%d equal by reasoning, %d to the compiler, %d did not compile)" % (
            layer, c["killed"], c["survived"], 100 * c["killed"] / max(1, c["killed"] + c["survived"]), c["reasoned"], c["equal"], c["invalid"]))
    return lines


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return "%s, %d cores" % (model.group(1) if model else platform.machine(), os.cpu_count() or 1)


def write_log(path, o, counts, survivors, reasoned):
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    with open(path, "a") as f:
        f.write("\n## %s, commit %s, seed %d, %s\n" % (time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), commit, o.seed, machine()))
        f.write("".join(l + "\n" for l in summary(counts)))
        for title, some in (("Survivors", survivors), ("Equal by reasoning (tests/mutants-equal.txt says why)", reasoned)):
            if some:
                f.write(title + ":\n" + "".join("  %s:%d  %s  ->  %s\n" % s for s in some))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("layers", nargs="*", help="layers or folders of src/; all by default")
    p.add_argument("--build", default="build", help="mutants are built in BUILD-mutants")
    p.add_argument("--sample", type=int, default=50)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    p.add_argument("--longest", type=float, default=12, help="seconds of a test that is run for files it is not named after")
    p.add_argument("--minutes", type=float, default=1e9)
    p.add_argument("--log", help="the result is added to this file")
    o = p.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    rng = random.Random(o.seed)
    tree = Tree(o.build, o.jobs)
    tree.longest = o.longest
    tests, counts, survivors, reasoned, known = {}, {}, [], [], known_equal()
    end = time.monotonic() + 60 * o.minutes
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True)) # what was judged until then counts
    for path, number in draw(tree.root, o.layers, rng):
        layer = layer_of(path)
        if sum(c["killed"] + c["survived"] for c in counts.values()) >= o.sample or time.monotonic() > end or stopped:
            break
        if layer not in tests:
            tests[layer] = prepare(tree, layer)
        with open(os.path.join(tree.root, path)) as f:
            original = f.read()
        line = original.splitlines(keepends=True)[number]
        mutant = rng.choice(mutants_of(line, code_of(original)[number]))
        began, place = time.monotonic(), (path, number + 1, line.strip(), mutant.strip())
        verdict, killer = ("reasoned", None) if (path, line.strip(), mutant.strip()) in known else judge(tree, path, number, mutant, original, tests[layer])
        counts.setdefault(layer, collections.Counter())[verdict] += 1
        print("%-8s %s:%d  %s  ->  %s" % ((verdict,) + place) + ("   [%s]" % killer if killer else "") + "  %.0f s" % (time.monotonic() - began), flush=True)
        {"survived": survivors, "reasoned": reasoned}.get(verdict, []).append(place)
    print("\n".join(summary(counts)))
    if o.log:
        write_log(o.log, o, counts, survivors, reasoned)


main()
