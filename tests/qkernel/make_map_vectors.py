"""Turns vectors of named maps (JSON: map, args, X, w, K, amplitudes) into the plain text the tests read.

make_map_vectors.py circuits-vectors.json > tests/data/qkernel/maps.txt. SPDX-License-Identifier: BSD-3-Clause
"""
import json
import sys


def text(value):
    return "[" + ", ".join(text(v) for v in value) + "]" if isinstance(value, list) else str(value)


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, list) else [value]


def put(name, rows):
    print(name, len(rows), len(rows[0]))
    for row in rows:
        print(*(repr(float(v)) for v in row))


for case in json.load(open(sys.argv[1])):
    arguments = ", ".join(f"{name}={text(value)}" for name, value in case["args"].items())
    print(f"case {case['map']}({arguments})")
    put("X", case["X"])
    if case["w"] is not None:
        put("W", [flat(case["w"])])
    put("K", case["K"])
    if "amplitudes" in case:
        put("re", [[a[0] for a in row] for row in case["amplitudes"]])
        put("im", [[a[1] for a in row] for row in case["amplitudes"]])
    print("end")
