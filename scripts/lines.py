#!/usr/bin/env python3
"""Whose lines those of src and cli are: lines.py [COMMIT]. SPDX-License-Identifier: BSD-3-Clause

Prints the tables of docs/archive/lines.md: lines of files that exist for one of the features that came after COMMIT (0f45b07), then, by room,
what the others had at COMMIT and have now. A file counts for the first feature whose pattern it fits."""
import collections, fnmatch, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEATURES = [
    ("Circuits: named maps, OpenQASM, compiler, states, gradients, `train-kernel`, other kernels of states, Nystrom features",
     "src/qkernel/circuit/* src/qkernel/qasm/* src/qkernel/simulate/* src/qkernel/similarity/* src/qkernel/cost.* src/qkernel/landmarks.c "
     "cli/gram/gram_circuit.c cli/gram/gram_landmarks.c cli/gram/train* cli/gram/cmd_train_kernel.c"),
    ("Circuits on GPUs", "src/qkernel/device/circuits/*"),
    ("Fused steps for every card since Ampere, tried once against the graph", "src/operators/rollout/fused/*_mma.* src/operators/rollout/fused/cells.cuh src/operators/rollout/device/trial.*"),
    ("Ranks: MPI, work dealt by rank 0, datasets, starts and sweeps over ranks, job scripts",
     "src/cluster/* src/operators/generate/ranks.* src/optimize/many/* cli/frame/ranks.c cli/solve/many.c cli/system/cmd_sbatch.c cli/system/sbatch.h"),
    ("Gram matrices in files, tile by tile, over ranks", "src/qkernel/file/* cli/gram/gram_file.c"),
    ("Support vector machines of any number of classes, regression, one class; given kernels; predictions with kept models",
     "src/qkernel/svm/machines/* src/qkernel/svm/decide.c src/qkernel/svm/targets.c src/qkernel/svm/model_read.c cli/gram/qsvm_classes.c cli/gram/qsvm_given.c "
     "cli/gram/cmd_qsvm_predict.c"),
    ("Models of AMPL and Pyomo (`.nl`, `.sol`)", "src/optimize/nl/* cli/solve/ampl.c"),
    ("Bounds and linear rows kept; minimal conflicts", "src/optimize/bounds/* src/optimize/problem/bounds.* src/optimize/problem/rows.* src/optimize/output/bounds_out.c"),
    ("Constraints of few variables each kept sparse; scaling",
     "src/optimize/sparse/* src/optimize/problem/pattern.* src/optimize/problem/compressed.* src/optimize/scaling.c"),
    ("Certificates of answers", "src/optimize/certificate.* cli/solve/certificate.c"),
    ("Recovery, gradient sampling, corrected steps", "src/optimize/recovery/* src/optimize/correction.c"),
    ("Warm starts; runs resumed with other options", "src/optimize/output/warm_start.c src/optimize/output/resumed.c"),
    ("Datasets: export, tables, split, card, `upgrade`, growing files, animated pictures, initial features",
     "src/operators/export/* src/operators/tools/upgrade.c src/operators/generate/grow.c src/operators/generate/row_copy.* src/operators/tools/pictures/image_apng.* "
     "src/operators/features/initial_cnn.* cli/dataset/cmd_card.c cli/dataset/cmd_export.c cli/dataset/cmd_split.c cli/dataset/cmd_table.c cli/dataset/cmd_upgrade.c"),
    ("Files of others in a jailed process; a reader that trusts nothing", "src/base/jail* src/operators/file/dataset_file.* src/operators/file/dataset_layout.c "
     "src/operators/file/dataset_read.c src/operators/file/dataset_reader.h src/operators/file/dataset_scan.* src/operators/file/dataset_serve.c"),
    ("Temporary files that kills cannot leave; signals; numbers in any locale", "src/base/files/temporary.* src/base/files/folder.* src/base/number.* cli/frame/signals.c cli/frame/room.c"),
    ("JSON and CSV in and out, names in npy files", "src/base/files/json_read.* src/base/files/csv_write.c src/base/files/npy_texts.c"),
    ("Norms and adjugates that do not overflow; OpenBLAS opened at run time", "*/norm.c */norm.cu */norm_lines.h */adjugate.c */adjugate.cu src/kernels/cpu/openblas.* "
     "src/kernels/cpu/without_openblas.c"),
    ("An interface that can grow (sizes of structs); `--explain-config`", "src/base/sized.* src/operators/config/accepted_unused.c src/operators/config/idle.*"),
    ("What each room is (README.md)", "*/README.md"),
]
MOVED = "cli/bench* cli/cases.* cli/operator_oracle.* cli/peak.c cli/peer* cli/solve_ablate.c cli/solve_cases.* cli/solve_record.c cli/timing.c"  # benchmarks: to bench/


def git(*arguments): return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=True).stdout


def lines_now():
    names = git("ls-files", "src", "cli").decode().split()
    return {name: (ROOT / name).read_bytes().count(b"\n") for name in names if (ROOT / name).exists()}


def lines_then(commit):
    names = git("ls-tree", "-r", "--name-only", commit, "src", "cli").decode().split()
    texts = subprocess.run(["git", "-C", ROOT, "cat-file", "--batch"], input="".join(f"{commit}:{n}\n" for n in names).encode(), capture_output=True, check=True).stdout
    lines, at = {}, 0
    for name in names:  # "SHA blob SIZE", the text, a line end
        head = texts.index(b"\n", at)
        size = int(texts[at:head].split()[2])
        lines[name] = texts.count(b"\n", head + 1, head + 1 + size)
        at = head + 2 + size
    return lines


def fits(name, patterns): return any(fnmatch.fnmatchcase(name, p) for p in patterns.split())


def feature_of(name): return next((title for title, patterns in FEATURES if fits(name, patterns)), None)


def room_of(name): return "cli" if name.startswith("cli/") else "/".join(name.split("/")[:2])


def main(commit):
    now, then = lines_now(), lines_then(commit)
    of_feature, rest, before = collections.Counter(), collections.Counter(), collections.Counter()
    for name, n in now.items():
        feature = feature_of(name)
        if feature: of_feature[feature] += n
        else: rest[room_of(name)] += n
    for name, n in then.items():
        before["benchmarks, then in cli" if fits(name, MOVED) else room_of(name)] += n
    print("| files of one feature that came later | lines |\n| --- | ---: |")
    for title, _ in FEATURES: print(f"| {title} | {of_feature[title]:,} |")
    print(f"| together | {sum(of_feature.values()):,} |\n")
    print(f"| all other files, by room | at {commit[:7]} | now |\n| --- | ---: | ---: |")
    for room in sorted(set(rest) | set(before)): print(f"| {room} | {before[room]:,} | {rest[room]:,} |")
    print(f"| together | {sum(then.values()):,} | {sum(rest.values()):,} |\n\nsrc and cli: {sum(now.values()):,} lines")


main(sys.argv[1] if len(sys.argv) > 1 else "0f45b07")
