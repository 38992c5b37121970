#!/usr/bin/env python3
"""Turns quantum-kernels-vectors.json into the plain text the C tests read: words and numbers only.

    make_vectors.py quantum-kernels-vectors.json OUTPUT-FOLDER

SPDX-License-Identifier: BSD-3-Clause"""
import json
import sys


def number(v):
    return repr(float(v)) if not float(v).is_integer() or abs(v) > 1e15 else str(int(v))


def matrix(out, name, rows):
    out.write(f"{name} {len(rows)} {len(rows[0])}\n")
    for row in rows:
        out.write(" ".join(number(v) for v in row) + "\n")


def case(out, c, entangler):
    mode = c["embed_mode"]
    out.write(f"case {c['id']} {c['n_qubits']} {c['n_layers']} {mode} {number(c['angle_scale'])} "
              f"{int(c['re_embed_between_layers'])} {entangler} {c.get('exact_shortcut') or 'none'}\n")
    matrix(out, "X", c["X"])
    weights = c["weights"]
    if entangler == "strong":
        weights = [[v for wire in layer for v in wire] for layer in weights]
    matrix(out, "W", weights)
    if "states_re" in c:
        rows = c.get("state_rows", range(len(c["states_re"])))
        matrix(out, "state_rows", [list(rows)])
        matrix(out, "states_re", c["states_re"])
        matrix(out, "states_im", c["states_im"])
    matrix(out, "gram", c["gram"])
    if "Y" in c:
        matrix(out, "Y", c["Y"])
        matrix(out, "cross_gram", c["cross_gram"])
    out.write("end\n")


def main():
    data = json.load(open(sys.argv[1]))
    with open(sys.argv[2] + "/circuits.txt", "w") as out:
        for c in data["cases"] + data["gram_only_cases"]:
            case(out, c, "basic")
        for c in data["extension_strongly_entangling"]:
            case(out, c, "strong")
    with open(sys.argv[2] + "/post.txt", "w") as out:
        p = data["post_processing"]
        for name in ("normalise", "normalise_jitter", "normalise_zero_diag"):
            out.write(f"normalise {number(p[name]['jitter'])}\n")
            matrix(out, "input", p[name]["input"])
            matrix(out, "output", p[name]["output"])
        x = p["cross_normalise"]
        out.write("cross 0\n")
        matrix(out, "input", x["input"])
        matrix(out, "left", [x["diag_left"]])
        matrix(out, "right", [x["diag_right"]])
        matrix(out, "output", x["output"])
        c = p["centre"]
        out.write("centre 0\n")
        for name in ("train", "test", "train_centred", "test_centred"):
            matrix(out, name, c[name])
    with open(sys.argv[2] + "/sizes.txt", "w") as out:
        for r in data["optimisation_helpers"]["state_tile_table"]:
            out.write(f"{r['total_bytes']} {number(r['vram_fraction'])} {r['n_qubits']} {r['bytes_per_complex']} "
                      f"{r['state_tile']} {r['max_precompute']}\n")
    with open(sys.argv[2] + "/batches.txt", "w") as out:
        for b in data["optimisation_helpers"]["dynamic_batch"]:
            out.write(f"trace {b['initial']} {b['min']} {b['max']} {number(b['target'])} {len(b['trace'])} {b['adjustments']}\n")
            for (used, seconds), after in zip(b["trace"], b["batch_after_each"]):
                out.write(f"{number(used)} {number(seconds)} {after}\n")


main()
