#!/usr/bin/env python3
"""Words that docs/words.md says not to use do not occur: words.py SOURCE. SPDX-License-Identifier: BSD-3-Clause

The words are those in backquotes in the columns "not" of docs/words.md; the folders are those of tests/layers/clean_rooms.txt. A name of
the library (lt_...) that rooms outside that list use too is theirs: it counts once they are listed. Names of tests are sentences, and free.

Decisions too: a number that a comment cites is in docs/decisions.md, and one that names a room of src, include or cli is cited there."""
import functools, pathlib, re, sys

ENDINGS = {".c", ".h", ".cu", ".cuh", ".cc"}
SCRIPTS = {".py", ".sh"}
TOPS = ("src", "include", "cli", "bench", "python", "tests", "examples", "scripts")
SCRIPT_TOKEN = re.compile(r"\"\"\".*?\"\"\"|#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
TEST = re.compile(r"LT_TEST\w*\(\w+\)|def test_\w+")  # whose names are sentences
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
PEOPLE = ["Fan, Chen and Lin"]  # authors of papers that comments cite, under the names they have


def read_words(page):
    """Words that may not be parts of names, and phrases that may not be in comments."""
    names, phrases = set(), set()
    for line in page.read_text().split("\n"):
        cells = line.split("|")
        if len(cells) != 5: continue  # no row of a table with three columns
        for word, scope in re.findall(r"`([^`]+)`(?: \((names|comments)\))?", cells[3]):
            if scope != "comments" and " " not in word: names.add(word)
            if scope != "names": phrases.add(word)
    return names, phrases


@functools.lru_cache(maxsize=None)
def split(file):
    """A source file as code without comments, literals and names of tests, and its comments as (line, text)."""
    text, comments, script = file.read_text(), [], file.suffix in SCRIPTS

    def take(match):
        if match[0].startswith(("#", '"""') if script else "/"): comments.append((text.count("\n", 0, match.start()) + 1, " ".join(match[0].split())))
        return " " + "\n" * match[0].count("\n")
    return TEST.sub("", (SCRIPT_TOKEN if script else TOKEN).sub(take, text)), comments


def identifiers(code):
    """Names with their lines; #include lines hold file names, which are checked as such."""
    for number, line in enumerate(code.split("\n"), 1):
        if line.lstrip().startswith("#include"): continue
        for name in re.findall(r"[A-Za-z_]\w*", line):
            if name != "HOME" and not name.endswith("_HOME"): yield number, name  # variables of the environment


def parts(name):
    """lt_cellMaker2 is made of lt, cell, maker."""
    return {p.lower() for p in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def list_rooms(source):
    lines = [l.strip() for l in (source / "tests/layers/clean_rooms.txt").read_text().split("\n")]
    lines = [l for l in lines if l and not l.startswith("#")]
    for line in lines: assert (source / line.lstrip("-")).is_dir(), f"clean_rooms.txt: {line} is no folder"
    return [source / l for l in lines if l[0] != "-"], [source / l[1:] for l in lines if l[0] == "-"]


def check_decisions(source, files, clean):
    text = (source / "docs/decisions.md").read_text()
    rooms = {int(n): room for n, room in re.findall(r"^- \*\*(\d+)\. .*?\*In\*\s+(\S+)$", text, re.M | re.S)}
    assert len(rooms) > 100 and len(rooms) == len(re.findall(r"^- \*\*\d+\.", text, re.M)), f"docs/decisions.md was not understood: {len(rooms)} rooms"
    cited = {}
    for file in files:
        for _, comment in split(file)[1]:
            for n in re.findall(r"\bdecision (\d+)", comment): cited.setdefault(int(n), []).append(file)
    for n in sorted(set(cited) - set(rooms)): yield f"{cited[n][0].relative_to(source)}: cites decision {n}, which docs/decisions.md does not have"
    for n, room in sorted(rooms.items()):
        if not room.startswith(("src", "include", "cli")): continue
        of_room = [f for f in clean if source / room in f.parents]
        if of_room and not set(of_room) & set(cited.get(n, [])): yield f"{room}: decision {n} is not cited in any comment"


def main(source):
    names, phrases = read_words(source / "docs/words.md")
    assert {"home", "remote", "told", "fan"} <= names and "the reference" in phrases, f"docs/words.md was not understood: {names}, {phrases}"
    rooms, not_yet = list_rooms(source)
    inside = lambda file, folders: any(folder in file.parents for folder in folders)
    files = [f for top in TOPS for f in sorted((source / top).rglob("*")) if f.suffix in ENDINGS | SCRIPTS]
    clean = [f for f in files if inside(f, rooms) and not inside(f, not_yet)]
    others = {name for f in files if f not in set(clean) for _, name in identifiers(split(f)[0]) if name.lower().startswith("lt_")}
    pattern = re.compile(r"\b(" + "|".join(sorted(map(re.escape, phrases))) + r")\b", re.I)
    found = []
    for file in clean:
        where = file.relative_to(source)
        code, comments = split(file)
        if parts(file.stem) & names: found.append(f"{where}: the name of the file")
        for line, name in identifiers(code):
            if name not in others and parts(name) & names: found.append(f"{where}:{line}: {name}")
        for line, text in comments:
            for people in PEOPLE: text = text.replace(people, "")
            for word in pattern.findall(text): found.append(f"{where}:{line}: '{word}' in a comment: {text[:100]}")
    found += check_decisions(source, files, clean)
    print("\n".join(dict.fromkeys(found)) or f"{len(clean)} files of {len(rooms)} rooms, {len(names | phrases)} words: none occurs")
    return bool(found) or len(clean) < 100


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
