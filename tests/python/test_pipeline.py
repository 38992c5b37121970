"""The drop-in for the quantum-kernel pipeline's compute_kernel_matrix. SPDX-License-Identifier: BSD-3-Clause"""
import inspect
import os
import unittest

import harness
import lathe
import lathe.compat
import numpy as np

rng = np.random.default_rng(0)
X, Y, WEIGHTS = rng.uniform(-1, 1, (7, 3)), rng.uniform(-1, 1, (4, 3)), rng.uniform(-1, 1, (2, 3))


def reference(X, Y, weights, re_embed):
    """State vectors by gates: RY then RZ of each feature, then per layer RX and a ring of CNOTs."""
    def state(x):
        q = len(x)
        psi = np.zeros([2] * q, dtype=complex)
        psi[(0,) * q] = 1

        def gate(psi, u, wire):
            return np.moveaxis(np.tensordot(u, psi, (1, wire)), 0, wire)
        for layer, row in enumerate(weights):
            for i, t in enumerate(x if layer == 0 or re_embed else ()):
                c, s = np.cos(t / 2), np.sin(t / 2)
                psi = gate(gate(psi, np.array([[c, -s], [s, c]]), i), np.diag([np.exp(-0.5j * t), np.exp(0.5j * t)]), i)
            for i, t in enumerate(row):
                psi = gate(psi, np.array([[np.cos(t / 2), -1j * np.sin(t / 2)], [-1j * np.sin(t / 2), np.cos(t / 2)]]), i)
            for i in range(q):
                psi = np.moveaxis(psi, (i, (i + 1) % q), (0, 1)).copy()
                psi[1] = psi[1, ::-1].copy()
                psi = np.moveaxis(psi, (0, 1), (i, (i + 1) % q))
        return psi.ravel()
    A, B = (np.array([state(x) for x in Z]) for Z in (X, Y))
    return np.abs(A.conj() @ B.T) ** 2


class Pipeline(unittest.TestCase):
    def setUp(self):
        lathe.compat.install()
        from scripts.pipeline_backends import compute_kernel_matrix
        self.compute = compute_kernel_matrix

    def tearDown(self):
        lathe.compat.uninstall()

    def test_matrices(self):
        for re_embed in (False, True):
            K = self.compute(X, Y, weights=WEIGHTS, re_embed_between_layers=re_embed)
            np.testing.assert_allclose(K, reference(X, Y, WEIGHTS, re_embed), atol=1e-12)
        K = self.compute(X, weights=WEIGHTS, gram_backend="numpy", n_workers=1, tile_size=2, normalize=True, jitter=1e-9, state_tile=4)
        np.testing.assert_allclose(K, reference(X, X, WEIGHTS, False), atol=1e-8)
        self.assertTrue((np.diag(K) == 1).all() and (K == K.T).all() and K.flags.c_contiguous)

    def test_types(self):
        self.assertEqual(self.compute(X, weights=WEIGHTS, dtype="float32", return_dtype="float32").dtype, np.float32)
        self.assertEqual(self.compute(X, weights=WEIGHTS, dtype=np.float32).dtype, np.float64)

    def test_mistakes(self):
        for options, words in (({"gram_backend": "tpu"}, "gram_backend"), ({"tile_m": 0}, "tile"), ({"state_tile": -2}, "state"), ({"vram_fraction": 0}, "vram"),
                               ({"embed_mode": "rx"}, "embed"), ({"tensorcore_precision": "fp8"}, "tensorcore"), ({"n_workers": -1}, "n_workers")):
            with self.assertRaisesRegex(ValueError, words):
                self.compute(X, weights=WEIGHTS, **options)
        with self.assertRaises(ValueError):
            self.compute(np.array([[1.0, np.nan, 0.0]]), weights=WEIGHTS)
        if not any(d.get("kind") == "cuda" for d in lathe.devices()):
            with self.assertRaises(lathe.Error):  # never a silent substitution
                self.compute(X, weights=WEIGHTS, gram_backend="cuda_states")

    def test_keywords(self):
        parameters = inspect.signature(self.compute).parameters
        self.assertEqual(len(parameters), 35)
        self.assertTrue(all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name not in ("X", "Y")))

    def test_a_package_of_the_script_stays(self):
        os.makedirs("scripts", exist_ok=True)
        with open("scripts/own.py", "w") as file:
            file.write("word = 'mine'\n")
        with open("scripts/__init__.py", "w"):
            pass
        self.assertEqual(harness.run_code("import sys; sys.path.insert(0, '')\nimport lathe.compat; lathe.compat.install()\nimport scripts.own\n"
                                          "from scripts.pipeline_backends import compute_kernel_matrix as c\nprint(scripts.own.word, c.__module__)"),
                         "mine lathe.compat.scripts.pipeline_backends")


if __name__ == "__main__":
    harness.main()
