"""Graph, Node, Program: the builders of lathe/graph.h by name."""
import pathlib
import re
import threading
import unittest

import harness
import numpy as np
from lathe import _core

HEADER = pathlib.Path(__file__).parents[2] / "include" / "lathe" / "graph.h"
#: Not ops of Graph.op: methods of Graph, or a form of another (split: slices).
ELSEWHERE = {"input", "constant", "name", "grad", "vjp", "jacobian", "split", "graph_verify", "program_create"}


class Builders(unittest.TestCase):
    def test_every_builder_of_the_header_has_a_row(self):
        names = set(re.findall(r"LT_API lt_(?:node|status) +lt_(\w+)\(lt_graph \*g", HEADER.read_text()))
        self.assertGreater(len(names), 100)
        self.assertEqual(names - ELSEWHERE, set(_core.op_names()))

    def test_mistakes_are_raised_where_they_are_made(self):
        g = _core.Graph()
        x = g.input("x", "float64", (2, 3))
        with self.assertRaisesRegex(ValueError, "there is no op 'sine'; did you mean"):
            g.op("sine", x)
        with self.assertRaisesRegex(ValueError, "takes 2 arguments"):
            g.op("add", x)
        with self.assertRaisesRegex(ValueError, "no node"):
            g.op("add", x, 3)
        with self.assertRaisesRegex(ValueError, "another graph"):
            _core.Graph().op("abs", x)
        with self.assertRaises(ValueError):
            g.op("matmul", x, x)

    def test_gradient_and_jacobian(self):
        g = _core.Graph()
        x = g.input("x", "float64", (3,))
        y = g.op("square", x)
        program = g.compile([*g.grad(g.op("sum", y), [x]), g.jacobian([y], x)[0]])
        at = np.array([1.0, -2.0, 3.0])
        gradient, jacobian = program(at)
        np.testing.assert_array_equal(gradient, 2 * at)
        np.testing.assert_array_equal(jacobian, np.diag(2 * at))


class Programs(unittest.TestCase):
    def setUp(self):
        g = _core.Graph()
        x, y = g.input("x", "float64", (64, 64)), g.input("y", "float64", (64, 64))
        self.program = g.compile([g.op("matmul", x, y)])

    def test_shape_and_type_are_checked(self):
        a = np.ones((64, 64))
        with self.assertRaisesRegex(ValueError, r"argument 1 has shape \[64, 63\]"):
            self.program(a, a[:, :63].copy())
        with self.assertRaisesRegex(ValueError, "1 arguments: expected 2"):
            self.program(a)
        with self.assertRaisesRegex(TypeError, "complex128"):
            self.program(a, a + 1j)

    def test_threads_share_a_program(self):
        rng = np.random.default_rng(0)
        pairs = [(rng.standard_normal((64, 64)), rng.standard_normal((64, 64))) for _ in range(8)]
        wrong = []

        def work(a, b):
            for _ in range(50):
                if not np.allclose(self.program(a, b)[0], a @ b):
                    wrong.append(1)
        threads = [threading.Thread(target=work, args=p) for p in pairs]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(wrong, [])

    def test_plan_names_kernels(self):
        self.assertIn("matmul", self.program.plan())
        self.assertGreater(self.program.info["flops"], 2 * 64 ** 3 * 0.9)


if __name__ == "__main__":
    harness.main()
