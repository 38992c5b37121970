"""docs/aten.md says what becomes of PyTorch's modules and functions: every verdict is tried again, and each captured one equals PyTorch in values and
derivatives at two points. SPDX-License-Identifier: BSD-3-Clause"""
import importlib.util
import os
import unittest

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: Sections whose cases need not be there in the same number: ops come and go with versions of PyTorch.
OPS = "ATen ops"


def script():
    spec = importlib.util.spec_from_file_location("aten_page", os.path.join(ROOT, "scripts", "aten.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@harness.needs("torch")
class Page(unittest.TestCase):
    def test_every_verdict(self):
        aten = script()
        with open(aten.PAGE, encoding="utf-8") as file:
            said = aten.verdicts(file.read())
        found = aten.found()
        names = {(title, name) for title, cases in found.items() for name in cases}
        self.assertEqual(names, {key for key in said if key[0] != OPS})
        for title, cases in found.items():
            for name, (_, why) in cases.items():
                with self.subTest(f"{title}: {name}"):
                    self.assertEqual("no" if why else "yes", said[title, name], why)

    def test_the_page_knows_the_table(self):
        from lathe.capture import torch as front
        from lathe.capture.aten import TABLE
        front.fill_table()
        aten = script()
        with open(aten.PAGE, encoding="utf-8") as file:
            said = {name.strip("`"): verdict for (title, name), verdict in aten.verdicts(file.read()).items() if title == OPS}
        self.assertGreater(len(said), 100)
        for name, verdict in said.items():
            with self.subTest(name):
                self.assertEqual("yes" if name in TABLE else "no", verdict)


if __name__ == "__main__":
    harness.main()
