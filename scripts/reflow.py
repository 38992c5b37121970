#!/usr/bin/env python3
"""Fills paragraphs of Markdown pages to 160 columns: reflow.py [--check] FILE.md.... SPDX-License-Identifier: BSD-3-Clause

Only paragraphs and list items with a longer line are touched; tables, code, headings and quotations stay as they are. With --check
nothing is written, and the exit status is 1 where something would be."""
import re, sys

WIDTH = 160
ITEM = re.compile(r"\s*(?:[-*]|\d+\.) +")
WORD = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+")  # code and links stay on one line
FIXED = re.compile(r"\s*(?:\||#|>|<|!\[)")                 # tables, headings, quotations, HTML, pictures
MARK = re.compile(r"(?:[-*+#>|]|\d+[.)])(?:\s|$)")         # what would begin something new at the start of a line


def fill(lines):
    """One paragraph or list item, as lines of at most WIDTH."""
    head = ITEM.match(lines[0])
    first = head.group() if head else re.match(r"\s*", lines[0]).group()
    after = " " * len(first)
    words = WORD.findall(" ".join([lines[0][len(first):]] + [line.strip() for line in lines[1:]]))
    out = [first + words[0]]
    for word in words[1:]:
        if len(out[-1]) + 1 + len(word) > WIDTH and not MARK.match(word):
            out.append(after + word)
        else:
            out[-1] += " " + word
    return out


def reflow(text):
    out, unit, fenced = [], [], False

    def close():
        out.extend(fill(unit) if any(len(line) > WIDTH for line in unit) and not any(line.endswith("  ") for line in unit) else unit)
        unit.clear()

    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            plain = False
        else:
            plain = bool(not fenced and line.strip() and not FIXED.match(line) and (unit or not line.startswith("    ")))
        if not plain or ITEM.match(line):
            close()
        if plain:
            unit.append(line)
        else:
            out.append(line)
    close()
    return "\n".join(out)


def main():
    check, changed = "--check" in sys.argv[1:], []
    for name in [a for a in sys.argv[1:] if a != "--check"]:
        with open(name, encoding="utf-8") as f:
            text = f.read()
        new = reflow(text)
        if new == text:
            continue
        changed.append(name)
        if not check:
            with open(name, "w", encoding="utf-8") as f:
                f.write(new)
    for name in changed:
        print(name)
    return 1 if check and changed else 0


sys.exit(main())
