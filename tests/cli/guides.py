#!/usr/bin/env python3
"""The worked examples of the guides give what the guides show: guides.py LATHE SOURCE. SPDX-License-Identifier: BSD-3-Clause

Blocks that begin with ```console are run, one page after the other, each page in a folder of its own that has `examples`. A line "$ COMMAND" is followed by
what it prints on standard output; "..." stands for any lines. Times, sizes and versions may differ, numbers by rounding."""
import os, pathlib, re, subprocess, sys, tempfile

lathe, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MASKS = [(r"[\d.]+ (ns|us|ms|s|B|KiB|MiB|GiB)\b", "SIZE"), (r"(lathe|engine) \d+\.\d+\.\d+", r"\1 VERSION"), (r"by (libsvm|smo) in \d+ iterations", "by SOLVER")]


def commands(page):
    """(command, lines it prints) of all console blocks."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, shown


def same(shown, printed):
    for pattern, name in MASKS: shown, printed = re.sub(pattern, name, shown), re.sub(pattern, name, printed)
    a, b = shown.split(), printed.split()
    return len(a) == len(b) and all(x == y or close(x, y) for x, y in zip(a, b))


def close(x, y):
    try: x, y = float(x.strip(",;")), float(y.strip(",;"))
    except ValueError: return False
    return abs(x - y) <= 1e-6 * max(abs(x), abs(y), 1)


def matches(shown, printed):
    """Whether lines are as shown, where "..." stands for any number of lines."""
    if not shown: return not printed
    if shown[0] == "...": return any(matches(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and same(shown[0], printed[0]) and matches(shown[1:], printed[1:])


def run_page(page, folder):
    """Failures of a page, or None when this build cannot run it."""
    os.symlink(source / "examples", folder / "examples")
    environment = dict(os.environ, PATH=f"{lathe.parent}:{os.environ['PATH']}", LATHE_CACHE=str(folder / "cache"))
    (folder / "cache").mkdir(mode=0o700)
    failures = []
    for command, shown in commands(page):
        run = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        if "built without" in run.stderr: return None
        printed = run.stdout.rstrip("\n").split("\n") if run.stdout else []
        if run.returncode or not matches(shown, printed):
            failures.append(f"{page.name}: '{command}' ends with {run.returncode} and prints\n{run.stdout}{run.stderr}where the page shows\n" + "\n".join(shown))
    return failures


failures, ran = [], 0
for page in [source / "docs/getting-started.md", source / "docs/circuits.md", *sorted(source.glob("docs/guide-*.md"))]:
    n = len(list(commands(page)))
    with tempfile.TemporaryDirectory() as folder:
        found = run_page(page, pathlib.Path(folder))
    if found is None: print(f"{page.name}: this build lacks a library it needs")
    else: failures, ran = failures + found, ran + n
print("\n".join(failures) or f"{ran} commands of the guides print what the guides show")
sys.exit(bool(failures) or ran < 5)
