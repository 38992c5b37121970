#!/usr/bin/env python3
"""The C code on the pages compiles, and does what they say: page_code.py CC SOURCE BUILD. SPDX-License-Identifier: BSD-3-Clause

Programs are run, fragments compiled between declarations of what they leave out, the row that docs/how-to/add-an-op.md adds compiled
where rows are used."""
import pathlib, re, subprocess, sys, tempfile

compiler, source, build = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])

# page, how the block begins, what stands before it and behind it
FRAGMENTS = [
    ("README.md", "lt_node x = ", "double run(void); double run(void) { lt_graph *g; lt_node gradient; lt_program *program; double at[2] = { 1, 1 }, value, slope[2];"
     " lt_graph_create(&g);", "return value + slope[0]; }"),
    ("docs/guide-datasets.md", "lt_dataset_config *c;", "void make(lt_rollout_sink sink, void *ctx); void make(lt_rollout_sink sink, void *ctx) {", "}"),
    ("docs/guide-kernels.md", "lt_gram_options opt", "double run(const double *weights, const double *x, double *K, int64_t n, int64_t n_layers, int64_t n_qubits);"
     " double run(const double *weights, const double *x, double *K, int64_t n, int64_t n_layers, int64_t n_qubits) {", "return info.total_seconds; }"),
]


def block(page, begins):
    """The fenced or indented block of a page that begins so."""
    text = (source / page).read_text()
    fenced = [b for b in re.findall(r"^```c\n(.*?)^```", text, re.M | re.S) if b.startswith(begins)]
    if fenced: return fenced[0]
    lines, found = text.split("\n"), []
    start = next(i for i, line in enumerate(lines) if line.strip().startswith(begins) and line.startswith("    "))
    for line in lines[start:]:
        if line.strip() and not line.startswith("    "): break
        found.append(line)
    return "\n".join(found)


def compile_text(text, *more):
    run = subprocess.run([compiler, "-std=c17", "-Wall", "-Werror", "-D_GNU_SOURCE", "-x", "c", "-", *more], input=text, capture_output=True, text=True)
    return run.stderr if run.returncode else ""


failures = []
with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    include = f"-I{source / 'include'}"
    for page, begins, before, behind in FRAGMENTS:
        wrong = compile_text(f"#include <lathe/lathe.h>\n{before}\n{block(page, begins)}\n{behind}\n", include, "-fsyntax-only")
        if wrong: failures.append(f"{page}: the code that begins with '{begins}' does not compile:\n{wrong}")

    page = "docs/qp.md"
    wrong = compile_text(block(page, "#include <lathe/qp.h>"), include, f"-L{build / 'lib'}", "-llathe", f"-Wl,-rpath,{build / 'lib'}", "-o", str(work / "qp"))
    printed = "" if wrong else subprocess.run([work / "qp"], capture_output=True, text=True).stdout
    shown = re.search(r"^    (ok: .*)$", (source / page).read_text(), re.M)[1]
    if wrong or printed.split(", residual")[0] != shown.split(", residual")[0]:
        failures.append(f"{page}: shows '{shown}' where its program prints '{printed}'\n{wrong}")

    page = "docs/how-to/add-an-op.md"
    (work / "kernels").mkdir()
    rows = (source / "src/kernels/ops.def").read_text()
    mark = "/* ---- of one operand ---- */\n"
    assert rows.count(mark) == 1, "ops.def has no such heading: where should the row go?"
    (work / "kernels/ops.def").write_text(rows.replace(mark, mark + block(page, "LT_UNARY(LOG2")))
    for file in ("src/kernels/ref/elementwise.c", "src/graph/derive/slopes.c"):
        wrong = compile_text((source / file).read_text(), f"-I{work}", f"-I{source / 'src'}", include, "-fsyntax-only")
        if wrong: failures.append(f"{page}: the row does not compile in {file}:\n{wrong}")

print("\n".join(failures) or f"{len(FRAGMENTS)} fragments, a program and a row: all compile")
sys.exit(bool(failures))
