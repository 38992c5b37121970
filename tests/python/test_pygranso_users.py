"""Scripts in the habits of PyGRANSO's users, unchanged. SPDX-License-Identifier: BSD-3-Clause"""
import glob
import os
import subprocess
import sys
import unittest

import harness

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pygranso_users")


@harness.needs("torch")
class Users(unittest.TestCase):
    pass


def add_script(path):
    def test(self):
        done = subprocess.run([sys.executable, "-m", "lathe.compat", path], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        self.assertTrue(done.stdout.endswith("passed\n"), done.stdout[-3000:])
    setattr(Users, "test_" + os.path.basename(path)[:-3], test)


for _path in sorted(glob.glob(os.path.join(SCRIPTS, "*.py"))):
    add_script(_path)


if __name__ == "__main__":
    harness.main()
