"""The command spinlock: subcommands, exit codes, and files that code written for Spinlock opens. SPDX-License-Identifier: BSD-3-Clause"""
import pathlib
import subprocess
import sys
import unittest

import harness

CONFIG = pathlib.Path(__file__).parents[2] / "examples" / "configs" / "small_cpu.yaml"


def spinlock(*arguments):
    return subprocess.run([sys.executable, "-m", "lathe.compat.spinlock", *map(str, arguments)], capture_output=True, text=True, timeout=300)


class Spinlock(unittest.TestCase):
    def test_version_and_help(self):
        self.assertEqual(spinlock("--version").stdout, "Spinlock v1.0.0\n")
        self.assertIn("visualize-dataset", spinlock("--help").stdout)
        self.assertIn("--total-samples", spinlock("generate", "--help").stdout)

    def test_errors_end_with_one(self):
        for arguments, words in ((("train-vqvae",), "there is no subcommand 'train-vqvae'"), (("info", "--dataset", "none.h5"), "none.h5"),
                                 (("generate", "--confg", "x"), "confg"), (("cloud-generate",), "--config"),
                                 (("cloud-generate", "--config", "x", "--provider", "runpod"), "on this machine only"), ((), "")):
            done = spinlock(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(words, done.stderr)

    def test_a_dataset_from_end_to_end(self):
        done = spinlock("generate", "--config", CONFIG, "--output", "s.h5", "--total-samples", 2, "--batch-size", 1)
        if done.returncode and "HDF5" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(spinlock("validate", "--dataset", "s.h5", "--check-samples", "--check-metadata").returncode, 0)
        self.assertEqual(spinlock("info", "--dataset", "s.h5").stdout, spinlock("inspect", "s.h5").stdout)
        drawn = spinlock("visualize-dataset", "--dataset", "s.h5", "--output", "v.mp4", "--aggregates", "mean", "entropy", "--operator-indices", 0, 1, "--steps", 4, "--dry-run")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)

    def test_flags_with_several_values(self):
        from lathe.compat.spinlock import joined
        self.assertEqual(joined("--dataset a.h5 --aggregates mean entropy pca --fps 9".split()), ["--dataset", "a.h5", "--aggregates", "mean,entropy,pca", "--fps", "9"])
        self.assertEqual(joined("--operator-indices 3 --tiers tier1 tier2 --dry-run x".split()), ["--operator-indices", "3", "--tiers", "tier1,tier2", "--dry-run", "x"])


if __name__ == "__main__":
    harness.main()
