"""What the tests share: skipping with a reason, random arrays, and running code in another process. SPDX-License-Identifier: BSD-3-Clause"""
import glob
import importlib.util
import json
import os
import signal
import subprocess
import sys
import unittest

import lathe.console

lathe.console.quiet = True
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in a shell's background ignore it, and tests of Ctrl-C would wait for ever

#: Under the address sanitizer everything takes several times as long, and what is released stays for a while (run.sh).
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")

#: PyGRANSO's method, for runs that are compared with its own; lathe's defaults differ.
AS_PUBLISHED = {"patience": 0, "lagrangian_updates": False, "correct_steps": False, "steering_halvings": 0, "honor_bounds": False, "scale_functions": False, "scale_variables": False, "bfgs_damping": 1e-4}


def needs(*packages):
    """A decorator that skips a test, with the reason, where a package is missing."""
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)} (scripts/test-python.sh)")


def run_code(code, timeout=120):
    """Output of a fresh interpreter that runs this code; its traceback on failure."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise AssertionError(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout.strip()


def script_tests(case, folder):
    """Gives the case a test for each script of the folder: under `python -m lathe.compat` it ends well and prints "passed" last."""
    scripts = sorted(glob.glob(os.path.join(folder, "*.py")))
    assert scripts, folder
    results = {}

    def result(script):  # of all of them at the first call
        if not results:
            runner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_scripts.py")
            lines = subprocess.run([sys.executable, runner, *scripts], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            results.update((row["script"], row) for row in map(json.loads, lines))
        return results[script]

    def test_of(script):
        def test(self):
            row = result(script)
            self.assertEqual(row["status"], 0, row["printed"][-3000:])
            self.assertTrue(row["printed"].endswith("passed\n"), row["printed"][-3000:])
        return test

    for script in scripts:
        setattr(case, "test_" + os.path.basename(script)[:-3], test_of(script))


def main():
    """All tests of the calling file; exit 77 when every one of them was skipped."""
    result = unittest.main(module="__main__", exit=False, verbosity=1).result
    if result.testsRun and len(result.skipped) == result.testsRun:
        print(f"skipped: {result.skipped[0][1]}")
        sys.exit(77)
    for test, why in result.skipped:
        print(f"skipped {test}: {why}")
    sys.exit(not result.wasSuccessful())
