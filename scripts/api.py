#!/usr/bin/env python3
"""The public interface of lathe, read from include/lathe: exported names, layouts of structs, reference page.

    scripts/api.py check [--build BUILD]             compares with tests/api/exports.txt, tests/api/layouts.txt and docs/api.md
    scripts/api.py accept [--build BUILD] [--break]  writes them anew; a change that breaks compiled programs only with --break
    scripts/api.py docs                              writes docs/api.md alone

BUILD is a build folder, by default build/ of this tree. A change breaks programs when a name is gone, or a struct changes otherwise than
by new fields at the end of one that begins with its size and grows by them. SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = os.path.join(ROOT, "include", "lathe")
EXPORTS = os.path.join(ROOT, "tests", "api", "exports.txt")
LAYOUTS = os.path.join(ROOT, "tests", "api", "layouts.txt")
PAGE = os.path.join(ROOT, "docs", "api.md")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def header_names():
    """In the order of lathe.h, which comes last."""
    listed = re.findall(r'#include "lathe/(\w+\.h)"', read(os.path.join(HEADERS, "lathe.h")))
    missing = set(os.listdir(HEADERS)) - set(listed) - {"lathe.h"}
    if missing:
        sys.exit(f"api: lathe.h does not include {', '.join(sorted(missing))}")
    return listed


# ---- Exported names ---------------------------------------------------------------------------------------------------


def exports(build):
    library = os.path.join(build, "lib", "liblathe.so")
    text = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], check=True, capture_output=True, text=True).stdout
    rows = []
    for line in text.splitlines():
        _, kind, name = line.split()
        if kind != "A":  # the versions themselves
            rows.append(f"{name.replace('@@', ' ')} {'function' if kind in 'TtWi' else 'data'}")
    return sorted(rows)


# ---- Layouts ----------------------------------------------------------------------------------------------------------


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def split_at(text, mark):
    """Pieces between marks that stand outside all brackets."""
    pieces, depth, piece = [], 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == mark and depth == 0:
            pieces.append(piece)
            piece = ""
        else:
            piece += c
    return pieces + ([piece] if piece.strip() else [])


def fields_of(body):
    names = []
    for declaration in split_at(body, ";"):
        declaration = declaration.strip()
        if not declaration:
            continue
        if "}" in declaration:  # a struct without a name: its members are part of the layout, its name is what follows
            declaration = declaration[declaration.rindex("}") + 1:]
        for part in split_at(declaration, ","):
            pointer = re.search(r"\(\s*\*\s*(\w+)", part)
            name = pointer.group(1) if pointer else re.findall(r"\w+", part.split("[")[0])[-1]
            names.append(name)
    return names


def structs():
    """(name, its fields) of all public structs that are not opaque."""
    found = []
    for header in header_names():
        text = without_comments(read(os.path.join(HEADERS, header)))
        for m in re.finditer(r"(?:typedef )?struct (lt_\w+)\s*\{", text):
            depth, at = 1, m.end()
            while depth:
                depth += (text[at] == "{") - (text[at] == "}")
                at += 1
            found.append((m.group(1), fields_of(text[m.end():at - 1])))
    return found


def layouts(compiler):
    lines = ['#include "lathe/lathe.h"', "#include <stdio.h>", "int main(void)", "{"]
    for name, fields in structs():
        lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        for field in fields:
            lines.append(f'    printf("  {field} at %zu of %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    lines += ["    return 0;", "}", ""]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layouts.c"), os.path.join(folder, "layouts")
        with open(source, "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
        subprocess.run([compiler, "-std=c17", "-I" + os.path.dirname(HEADERS), source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def as_structs(lines):
    """{name: (size, [field lines])}"""
    found, name = {}, None
    for line in lines:
        if line.startswith(" "):
            found[name][1].append(line)
        elif line.strip():
            name, size = line.split()
            found[name] = (int(size), [])
    return found


def breaks_layout(old, new):
    """Sentences about changes that programs compiled before do not survive."""
    said = []
    for name, (size, fields) in as_structs(old).items():
        now = as_structs(new).get(name)
        if now is None:
            said.append(f"struct {name} is gone")
        elif now[1][:len(fields)] != fields:
            said.append(f"struct {name}: fields that were there have moved or changed")
        elif len(now[1]) > len(fields) and not fields[0].startswith("  size at 0 "):
            said.append(f"struct {name} has new fields and does not begin with its size")
        elif len(now[1]) > len(fields) and now[0] == size:
            said.append(f"struct {name}: a new field lies where padding was, so the size does not show it; put a wider one first")
        elif len(now[1]) == len(fields) and now[0] != size:
            said.append(f"struct {name}: {size} bytes became {now[0]} without a new field")
    return said


# ---- The page -----------------------------------------------------------------------------------------------------------


def escaped(line):
    """Signs that Markdown would take for its own, outside `code`."""
    parts = line.split("`")
    parts[::2] = [re.sub(r"([*_])(?=\w)|(?<=\w)([*])", r"\\\1\2", p).replace("<", "&lt;") if "*" in p or "<" in p else p for p in parts[::2]]
    return "`".join(parts)


def plain(comment):
    """The text of a comment in Markdown; indented lines in it are code."""
    lines = [line.rstrip() for line in comment.strip()[2:-2].strip("\n").split("\n")]
    lines = [re.sub(r"^ {1,3}(?! )", "", line) for line in lines if "SPDX" not in line or line.replace("SPDX-License-Identifier: BSD-3-Clause", "").strip()]
    text = "\n".join(lines).replace("SPDX-License-Identifier: BSD-3-Clause", "").strip()
    out, code = [], False
    for line in text.split("\n"):
        indented = line.startswith("       ")
        if indented != code and line.strip():
            out.append("```" if code else "```c")
            code = indented
        out.append(line[7:] if indented else escaped(line))
    return "\n".join(out + (["```"] if code else [])).replace("\n\n```\n", "\n```\n").replace("\n```\n", "\n```\n\n")


def pieces(text):
    """("comment" | "section" | "code", text) in order, without guards, includes and the C++ frame."""
    text = re.sub(r'#ifdef __cplusplus\n(extern "C" \{|\})\n#endif\n', "", text)
    text = re.sub(r"#if defined\(_WIN32\).*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"^#(ifndef|define) LATHE_\w+_H\n", "", text, flags=re.M)
    text = re.sub(r"^#include .*\n", "", text, flags=re.M)
    text = re.sub(r"\n#endif\s*$", "\n", text)
    text = re.sub(r"^static inline (\w+ lt_\w+\([^{]*\)) \{ .* \}$", r"\1; /* inline */", text, flags=re.M)
    code, at, found = [], 0, []

    def flush():
        block = re.sub(r"\n{3,}", "\n\n", "\n".join(code)).strip("\n")
        if block.strip():
            found.append(("code", block))
        code.clear()

    lines = text.split("\n")
    while at < len(lines):
        line = lines[at]
        if line.startswith("/*"):
            block = [line]
            while "*/" not in lines[at]:
                at += 1
                block.append(lines[at])
            flush()
            section = re.match(r"/\* ---- (.*?) -{2,}(?: \*/)?$", block[0])
            if section:
                found.append(("section", section.group(1)))
                block = ["/* " + block[1].strip()] + block[2:] if len(block) > 1 else []
            if block:
                found.append(("comment", plain("\n".join(block))))
        else:
            code.append(line)
        at += 1
    flush()
    return found


def page():
    out = ["# C interface", "", "<!-- Written by scripts/api.py from include/lathe; edit the headers. -->", "",
           "One header per area; `lathe/lathe.h` includes them all. `LT_API` marks what the library exports; functions marked `inline` are made",
           "by the header. Status, error text, versions and the structs that begin with their size are explained under `base.h`.", ""]
    names = header_names()
    out += [f"- [`lathe/{name}`](#lathe{name.replace('.', '')})" for name in names] + [""]
    for name in names:
        out += [f"## lathe/{name}", ""]
        for kind, text in pieces(read(os.path.join(HEADERS, name))):
            out += [f"### {text}", ""] if kind == "section" else [text, ""] if kind == "comment" else ["```c", text, "```", ""]
    return "\n".join(out).rstrip().split("\n")


# ---- Comparing ------------------------------------------------------------------------------------------------------------


def stored(path):
    return read(path).rstrip("\n").split("\n") if os.path.exists(path) else []


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def differences(label, old, new):
    gone, added = [line for line in old if line not in set(new)], [line for line in new if line not in set(old)]
    for sign, lines in (("-", gone), ("+", added)):
        for line in lines[:12]:
            print(f"{label}: {sign} {line}")
        if len(lines) > 12:
            print(f"{label}: {sign} … and {len(lines) - 12} more lines")
    if not gone and not added and old != new:
        print(f"{label}: the same lines in another order")
    return old != new


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "accept", "docs"])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--compiler", default=os.environ.get("CC", "cc"))
    parser.add_argument("--break", dest="breaking", action="store_true")
    o = parser.parse_args()
    if o.what == "docs":
        return write(PAGE, page())
    if platform.machine() != "x86_64":
        print("layouts are recorded for x86_64")
        return 77
    now = {EXPORTS: exports(o.build), LAYOUTS: layouts(o.compiler), PAGE: page()}
    broken = breaks_layout(stored(LAYOUTS), now[LAYOUTS]) + [f"{line.split()[0]} is no longer exported" for line in stored(EXPORTS) if line not in now[EXPORTS]]
    foreign = [line for line in now[EXPORTS] if not line.startswith("lt_")]
    for line in foreign:
        print(f"exported, but no name of ours: {line}")
    if o.what == "accept":
        for line in broken:
            print(f"breaks compiled programs: {line}")
        if foreign or (broken and not o.breaking):
            return 1
        for path, lines in now.items():
            write(path, lines)
        return 0
    changed = [differences(os.path.relpath(path, ROOT), stored(path), lines) for path, lines in now.items()]
    for line in broken:
        print(f"breaks compiled programs: {line}")
    if any(changed):
        print("if the interface should change: scripts/api.py accept, and commit what it writes")
    return 1 if any(changed) or foreign else 0


if __name__ == "__main__":
    sys.exit(main())
