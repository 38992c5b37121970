#!/usr/bin/env python3
"""docs/options.md from the option table of the command: options.py LATHE [--check]. SPDX-License-Identifier: BSD-3-Clause"""
import json, pathlib, re, subprocess, sys

page = pathlib.Path(__file__).resolve().parent.parent / "docs/options.md"
HEAD = """# Options of the optimizer

Set them with `lathe solve --set NAME=VALUE`, by `option NAME = VALUE` in a problem file, or in C through the fields of `lt_solve_options` and
`lt_solve_options_set`. The names in the second column are mostly those of PyGRANSO and mean the same wherever options are set as text; fields of
`lt_solve_options` have the first. `lathe explain NAME` prints one. The table is made by `scripts/options.py`; the test `options_page` checks it.

| option | also called | takes | default | meaning |
| --- | --- | --- | --- | --- |
"""


def row(answer):
    found = re.match(r"takes (.*?)(?:; default (.*?))?(?:; also called (\S+))?; set it with", answer["detail"])
    cell = lambda text: (text or "").replace("|", "\\|")
    return f"| `{answer['name']}` | {'`' + found[3] + '`' if found[3] else ''} | {cell(found[1])} | {'`' + cell(found[2]) + '`' if found[2] else ''} | {cell(answer['text'])} |\n"


def main(lathe, check):
    answers = json.loads(subprocess.run([lathe, "explain", "option", "--json"], capture_output=True, text=True, check=True).stdout)["answers"]
    text = HEAD + "".join(row(a) for a in answers if a["kind"] == "option of the solver")
    assert text.count("\n| `") > 30, "the options were not understood"
    if check and (not page.exists() or page.read_text() != text): sys.exit("docs/options.md is not that of the command; run scripts/options.py LATHE")
    if not check: page.write_text(text)
    print(f"docs/options.md: {text.count(chr(10)) - HEAD.count(chr(10))} options")


main(sys.argv[1], sys.argv[2:] == ["--check"])
