#!/usr/bin/env python3
"""Turns the machines of quantum-kernels-vectors.json into the plain text the C tests read: words and numbers only.

    make_svm_vectors.py quantum-kernels-vectors.json OUTPUT-FOLDER

SPDX-License-Identifier: BSD-3-Clause"""
import json
import sys


def matrix(out, name, rows):
    out.write(f"{name} {len(rows)} {len(rows[0])}\n")
    for row in rows:
        out.write(" ".join(repr(float(v)) for v in row) + "\n")


def main():
    data = json.load(open(sys.argv[1]))
    small = data["svm_small"]
    with open(sys.argv[2] + "/svm_small.txt", "w") as out:
        matrix(out, "X_train", small["X_train"])
        matrix(out, "y_train", [small["y_train"]])
        matrix(out, "X_test", small["X_test"])
        matrix(out, "y_test", [small["y_test"]])
        matrix(out, "weights", small["weights"])
        matrix(out, "coefficients", [small["signed_dual_coef"]])
        matrix(out, "decision", [small["decision"]])
        m = small["metrics"]
        matrix(out, "expected", [[small["angle_scale"], small["C"], small["bias"], small["dual_objective"], *small["n_support"],
                                  m["f1"], m["accuracy"], m["precision"], m["recall"], m["balanced_accuracy"], m["roc_auc"],
                                  m["average_precision"]]])
    with open(sys.argv[2] + "/svm_synthetic.txt", "w") as out:
        for r in data["synthetic_end_to_end"]:
            numbers = [r["angle_scale"], r["C"], r["pixel_mean"], r["row1_sum"], *r["first_pixels"], *r["eigenvalues"], r["off_diag_mean"],
                       r["off_diag_std"], r["K_0_1"], r["K_0_2"], r["Ktest_0_0"], r["f1"], r["accuracy"], r["roc_auc"],
                       r["average_precision"], r["n_support"], r["dual_objective"], r["bias"]]
            out.write(f"{r['task']} {r['n_qubits']} {r['embed_mode']} {int(r['re_embed_between_layers'])} "
                      + " ".join(repr(float(v)) for v in numbers) + "\n")


main()
