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


if __name__ == "__main__":
    harness.main()
