"""Reference counts of long-lived objects and blocks of memory are exact: references.py here, under a debug Python and under AddressSanitizer.
SPDX-License-Identifier: BSD-3-Clause"""
import os
import subprocess
import sys
import unittest

import harness
from lathe import _core

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODULE = os.path.abspath(_core.__file__)
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(MODULE)))
PLAIN = not os.path.isdir(os.path.join(BUILD, "python", "lathe")) or not os.path.isfile(os.path.join(BUILD, "CMakeCache.txt"))


def run(command, calls):
    environment = {**os.environ, "LATHE_CALLS": str(calls)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environment)
    return done.returncode, done.stdout[-6000:] + done.stderr[-6000:]


class References(unittest.TestCase):
    def check(self, command, calls):
        code, text = run(command, calls)
        if code == 77:
            self.skipTest(text.strip().removeprefix("skipped: "))
        self.assertEqual(code, 0, text)
        self.assertIn(": 0 findings", text)

    def test_in_this_python(self):
        self.check([sys.executable, os.path.join(HERE, "references.py")], 200)

    @unittest.skipIf(PLAIN, "the package is not in a build folder")
    def test_in_a_debug_build_of_python(self):
        self.check(["sh", os.path.join(ROOT, "scripts", "python-debug.sh"), BUILD], 60)

    @unittest.skipIf(PLAIN, "the package is not in a build folder")
    def test_under_address_sanitizer(self):
        with open(MODULE, "rb") as file:
            if b"__asan_init" not in file.read():
                self.skipTest("the extension was built without AddressSanitizer (make asan)")
        self.check(["sh", os.path.join(ROOT, "scripts", "python-debug.sh"), BUILD, "asan"], 60)


if __name__ == "__main__":
    harness.main()
