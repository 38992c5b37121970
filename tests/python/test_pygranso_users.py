"""Scripts in the habits of PyGRANSO's users, unchanged. SPDX-License-Identifier: BSD-3-Clause"""
import os
import unittest

import harness


@harness.needs("torch")
class Users(unittest.TestCase):
    pass


harness.script_tests(Users, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pygranso_users"))


if __name__ == "__main__":
    harness.main()
