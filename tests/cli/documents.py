#!/usr/bin/env python3
"""What the pages say is so: documents.py LATHE SOURCE FIRST_EXAMPLE. SPDX-License-Identifier: BSD-3-Clause

Links lead somewhere, files that are named exist (but in docs/archive), commands that are shown have the options they are shown with, and the first page shows
what its example and its problem print."""
import pathlib, re, shlex, subprocess, sys, tempfile

lathe, source, example = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
failures = []


def fail(page, text):
    failures.append(f"{page.relative_to(source)}: {text}")


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def check_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text):
        if re.match(r"[a-z]+:", target): continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists(): fail(page, f"link to {target}: there is no such file")
        elif anchor and anchor not in anchors(file): fail(page, f"link to {target}: there is no such heading")


def check_files(page, text):
    for name in re.findall(r"(?<![\w./~-])((?:docs|examples|src|tests|bench|include|cli|editors|scripts|cmake)/[\w./-]+\.\w+)", text):
        if not (source / name).exists() and not (page.parent / name).exists(): fail(page, f"names {name}, which does not exist")


def help_of(words, known={}):
    """The help of ("lathe", "gram") or ("lathe-bench", "gram")."""
    if words not in known:
        run = subprocess.run([pathlib.Path(lathe).with_name(words[0]), *words[1:], "--help"], capture_output=True, text=True)
        known[words] = run.stdout if run.returncode == 0 else None
    return known[words]


def check_command(page, line):
    try: words = shlex.split(line.replace("$ ", ""), comments=True)
    except ValueError: return  # prose between backticks
    program, words = words[0], words[1:]
    if words[:1] in (["help"], ["explain"]) or not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]): return
    if "--" in words: words = words[:words.index("--")]  # what follows is another subcommand's
    command = (program, *words[:2]) if words[:2] in (["qsvm", "predict"], ["cluster", "sbatch"]) else (program, words[0])
    text = help_of(command)
    if text is None and page.name == "CHANGELOG.md": return  # also names what is gone
    if text is None: return fail(page, f"shows '{' '.join(command)}', which is no subcommand: {line}")
    for word in words:
        option = re.match(r"--([a-z0-9-]+)", word)
        if option and not re.search(rf"--(\[no-\])?{re.sub('^no-', '', option[1])}\b", text) and option[1] != "help": fail(page, f"'{' '.join(command)}' has no option --{option[1]}: {line}")


def indented(text, first, last):
    """The lines of an indented block from the one that begins with first to the one before last."""
    block = text[text.index("\n    " + first) + 1:]
    return [l[4:] for l in block[:block.index(last)].split("\n") if l.startswith("    ")]


def same_on_any_machine(line):
    """Without what depends on the processor and the clock."""
    return re.sub(r"fused_f64_[a-z0-9_]*?_(?=\d+ops)", "fused_f64_", re.sub(r"\d+\.\d+ ms", "ms", line)).split()


def check_first_page(page):
    text = page.read_text()
    printed = subprocess.run([example], capture_output=True, text=True).stdout.split("\n")
    shown = indented(text, "f(0.5, 1)", "## Use it")
    for want, got in zip(shown, printed):
        if same_on_any_machine(want) != same_on_any_machine(got): fail(page, f"shows '{want.strip()}' where the example prints '{got.strip()}'")
    problem = indented(text, "# rosen.lt", "    $ lathe solve")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rosen.lt"
        file.write_text("\n".join(problem) + "\n")
        printed = subprocess.run([lathe, "solve", str(file), "--quiet"], capture_output=True, text=True).stdout.split("\n")
    rounded = lambda line: re.sub(r"(\d\.\d{10})\d+", r"\1", line)  # the last digits are the processor's
    for want, got in zip(indented(text, "minimum: f", "| command"), printed):
        if rounded(want) != rounded(got): fail(page, f"shows '{want}' where the command prints '{got}'")


pages = [source / "README.md", source / "CHANGELOG.md", *sorted(source.glob("docs/**/*.md")), *sorted(source.glob("*/README.md")), *sorted(source.glob("src/**/README.md"))]
shown = 0
for page in pages:
    text = page.read_text()
    check_links(page, text)
    if "archive" in page.parts: continue  # names of files and commands are those of their time
    check_files(page, text)
    lines = [l.strip().lstrip("$ ") for l in text.split("\n")]
    for line in [l for l in lines if re.match(r"lathe(-bench)? ", l) or re.search(r"bin/lathe(-bench)? ", l.split("#")[0])] + re.findall(r"`(lathe(?:-bench)? [^`]*)`", text):
        check_command(page, line[re.search(r"lathe(-bench)? ", line).start():])
        shown += 1
check_first_page(source / "README.md")
assert shown > 100, f"only {shown} commands found: the search is broken"
print("\n".join(failures) or f"{len(pages)} pages, {shown} commands: all so")
sys.exit(bool(failures))
