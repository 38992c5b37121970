#!/usr/bin/env python3
"""Small faults put into the sources one at a time: do the tests of their layer find them?

    mutate.py [--build build] [--sample 50] [--seed 1] [--report FILE] [LAYER-OR-PATH...]

Lines of src/ are drawn evenly, each gets one change that a tired programmer might make (< for <=, a negated condition, a constant off by
one, a statement left out), the tests that link the layer are built and run, and the change is taken back. A mutant that does not compile, or
whose objects are the same bytes as before, does not count. Survivors are listed with their lines: each is a test that is missing, or a
change that changes nothing (look, and say so). Works in a copy of the tree beside the build folder, so the sources here stay as they are.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse, hashlib, os, random, re, shutil, subprocess, sys, time

# Tests by the layer they are named after in tests/: what is run for a mutant of src/<layer>.
TESTS = {
    "base": "^(base_|fuzz_(csv|npy|npz|options)|json)", "trace": "^(trace|json|fuzz_json)", "report": "^report", "tune": "^(tune|fuzz_tune)",
    "device": "^(device|lane|memory|null|stream|cuda_fake|cuda_fault)$", "kernels": "^(fused|ops_|vec|openblas|trial|hessenberg_qr|cuda_table)",
    "graph": "^graph_", "optimize": "^(solve|qp|language|checkpoint|convex|fuzz_(language|checkpoint))",
    "qkernel": "^(gram|qsvm|fuzz_(qsvm_model|cache))", "operators": "^(store|dataset|crafted|generate|operator_|sampling|initial_fields|feature_|yaml|image|learned|watchdog|fuzz_(config|journal|worker|hdf5))",
    "operators/file": "^(store|dataset_fuzz|crafted|generate|fuzz_(journal|hdf5))$", "operators/config": "^(dataset_config|yaml|fuzz_config|sampling)",
}

SWAPS = [  # (pattern, replacements): one place of one line is changed
    (r"<=", ["<"]), (r">=", [">"]), (r"(?<![<\-])<(?![<=])", ["<="]), (r"(?<![>\-])>(?![>=])", [">="]), (r"==", ["!="]), (r"!=", ["=="]),
    (r"&&", ["||"]), (r"\|\|", ["&&"]), (r"(?<=[\w)\]] )\+(?= [\w(])", ["-"]), (r"(?<=[\w)\]] )-(?= [\w(])", ["+"]), (r"(?<=[\w)\]] )\*(?= [\w(])", ["+"]),
    (r"\+\+", ["--"]), (r"\bif \((?=[^;]*\))", ["if (!(%)) "]), (r"\b0\b", ["1"]), (r"\b1\b", ["2", "0"]), (r"\btrue\b", ["false"]), (r"\bfalse\b", ["true"]),
    (r"\breturn LT_OK;", ["return LT_ERR_INTERNAL;"]), (r"\bcontinue;", [";"]), (r"\bbreak;", [";"]), (r"\bLT_MIN\b", ["LT_MAX"]), (r"\bLT_MAX\b", ["LT_MIN"]),
]
STATEMENT = re.compile(r"^\s+(?!return\b|case\b|default\b|break\b|continue\b|else\b|goto\b|(?:const |static |u?int\w* |double |float |char |bool |size_t |lt_\w+ [*a-z]|struct |enum |FILE |void )).*;\s*(/\*.*\*/)?$")
SKIP = re.compile(r"^\s*(#|/?\*|//|\}|\{|_Static_assert|typedef|extern)")


def negated(line, at):
    """if (CONDITION) with its condition turned round, or None when the parentheses do not close in the line."""
    start, depth = at + 4, 1
    for i in range(start, len(line)):
        depth += {"(": 1, ")": -1}.get(line[i], 0)
        if depth == 0:
            return line[:start] + "!(" + line[start:i] + ")" + line[i:]
    return None


def mutants_of(line):
    code = line.split("/*")[0].split("//")[0]
    if SKIP.match(line) or '"' in code or not code.strip():
        code = "" if SKIP.match(line) or not code.strip() else re.sub(r'"(\\.|[^"\\])*"', lambda m: "\0" * len(m.group()), code)
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
    parts = path.split("/")
    fine = "/".join(parts[1:3])
    return fine if fine in TESTS else parts[1]


def draw(root, wanted, count, rng):
    lines = []
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if not name.endswith(".c") or (wanted and not any(path.startswith("src/" + w) or path.startswith(w) for w in wanted)):
                continue
            with open(os.path.join(root, path)) as f:
                lines += [(path, i) for i, text in enumerate(f) if mutants_of(text)]
    rng.shuffle(lines)
    return lines[:count]


class Tree:
    """A copy of the sources with a build folder of its own, whose objects come from the compiler's cache where there is one."""

    def __init__(self, build, jobs):
        self.root, self.build, self.jobs = os.path.abspath(build) + "-mutants", "build", jobs
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(".", self.root, ignore=shutil.ignore_patterns(".git", "build", "build-*"), symlinks=True)
        self.run(["cmake", "-G", "Ninja", "-S", ".", "-B", self.build, "-DLT_WERROR=OFF"], check=True)
        listing = subprocess.run(["ctest", "--test-dir", self.build, "-N"], cwd=self.root, capture_output=True, text=True).stdout
        self.names = re.findall(r"Test +#\d+: (\S+)", listing)

    def run(self, command, timeout=None, check=False):
        return subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, text=True, check=check)

    def tests_of(self, layer):
        return [n for n in self.names if re.search(TESTS[layer], n)]

    def compile(self, tests):
        return self.run(["ninja", "-C", self.build, "-j", str(self.jobs)] + ["test_" + t for t in tests])

    def digest(self, tests):
        h = hashlib.sha256()
        for t in tests:
            with open(os.path.join(self.root, self.build, "bin", "test_" + t), "rb") as f:
                h.update(f.read())
        return h.hexdigest()

    def test(self, tests):
        """The name of a test that fails, or None."""
        for t in tests:
            try:
                if self.run(["ctest", "--test-dir", self.build, "-R", "^%s$" % t, "--timeout", "120"], timeout=200).returncode:
                    return t
            except subprocess.TimeoutExpired:
                return t
        return None


def judge(tree, path, number, mutant, original, tests):
    lines = original.splitlines(keepends=True)
    lines[number] = mutant
    full = os.path.join(tree.root, path)
    with open(full, "w") as f:
        f.writelines(lines)
    try:
        if tree.compile(tests).returncode:
            return "invalid", None
        if tree.digest(tests) == tree.before[layer_of(path)]:
            return "equal", None
        killer = tree.test(tests)
        return ("killed", killer) if killer else ("survived", None)
    finally:
        with open(full, "w") as f:
            f.write(original)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("layers", nargs="*", help="layers or folders of src/; all by default")
    p.add_argument("--build", default="build", help="mutants are built in BUILD-mutants")
    p.add_argument("--sample", type=int, default=50)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    p.add_argument("--minutes", type=float, default=1e9)
    p.add_argument("--report")
    o = p.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    rng = random.Random(o.seed)
    tree = Tree(o.build, o.jobs)
    tree.before, counts, survivors = {}, {}, []
    end = time.monotonic() + 60 * o.minutes
    for path, number in draw(tree.root, o.layers, 4 * o.sample, rng):
        layer = layer_of(path)
        judged = sum(c.get("killed", 0) + c.get("survived", 0) for c in counts.values())
        if judged >= o.sample or time.monotonic() > end:
            break
        tests = tree.tests_of(layer)
        with open(os.path.join(tree.root, path)) as f:
            original = f.read()
        if layer not in tree.before:
            if tree.compile(tests).returncode or tree.test(tests):
                sys.exit("the tests of %s do not pass as they are" % layer)
            tree.before[layer] = tree.digest(tests)
        line = original.splitlines(keepends=True)[number]
        mutant = rng.choice(mutants_of(line))
        verdict, killer = judge(tree, path, number, mutant, original, tests)
        counts.setdefault(layer, {}).setdefault(verdict, 0)
        counts[layer][verdict] += 1
        print("%-8s %s:%d  %s  ->  %s%s" % (verdict, path, number + 1, line.strip(), mutant.strip(), "   [%s]" % killer if killer else ""), flush=True)
        if verdict == "survived":
            survivors.append((path, number + 1, line.strip(), mutant.strip()))
    lines = []
    for layer, c in sorted(counts.items()):
        killed, survived = c.get("killed", 0), c.get("survived", 0)
        lines.append("%-18s %3d killed, %3d survived: %3.0f %%   (%d did not compile, %d changed nothing)" % (
            layer, killed, survived, 100 * killed / max(1, killed + survived), c.get("invalid", 0), c.get("equal", 0)))
    killed, survived = (sum(c.get(k, 0) for c in counts.values()) for k in ("killed", "survived"))
    lines.append("%-18s %3d killed, %3d survived: %3.0f %%" % ("all", killed, survived, 100 * killed / max(1, killed + survived)))
    lines += ["", "Survivors:"] + ["  %s:%d  %s  ->  %s" % s for s in survivors]
    print("\n".join(lines))
    if o.report:
        with open(o.report, "w") as f:
            f.write("\n".join(lines) + "\n")
    shutil.rmtree(tree.root, ignore_errors=True)


main()
