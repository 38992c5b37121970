"""Gram matrices and support vector machines."""
import pickle
import unittest

import harness
import lathe
import numpy as np
from lathe import _core

RNG = np.random.default_rng(5)
X, Y, W = RNG.uniform(0, 1, (12, 4)), RNG.uniform(0, 1, (7, 4)), RNG.standard_normal((2, 4))


class Gram(unittest.TestCase):
    def test_it_is_the_overlap_of_states(self):
        kernel = lathe.QuantumKernel(W, re_embed=True, embed="ryrz")
        psi, phi = kernel.states(X), kernel.states(Y)
        np.testing.assert_allclose(kernel(X, Y), np.abs(psi.conj() @ phi.T) ** 2, atol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(X), 1, atol=1e-12)
        K = kernel(X)
        self.assertTrue((K == K.T).all())

    def test_of_two_rows_it_is_a_number(self):
        """As callers that compare row by row ask for it: scikit-learn's pairwise_kernels, kernel functions of PennyLane's style."""
        kernel, X = lathe.QuantumKernel(np.full((1, 3), 0.2), re_embed=True), np.random.default_rng(0).uniform(size=(4, 3))
        one = kernel(X[0], X[2])
        self.assertIsInstance(one, float)
        self.assertAlmostEqual(one, kernel(X)[0, 2], places=12)
        np.testing.assert_allclose([[kernel(a, b) for b in X] for a in X], kernel(X), atol=1e-12)

    def test_precisions_and_layouts(self):
        K = lathe.gram(X, weights=W, re_embed=True)
        self.assertEqual(lathe.last_copies(), [])
        single = lathe.gram(X.astype(np.float32), weights=W, re_embed=True, dtype="float32", return_dtype="float32")
        self.assertEqual(single.dtype, np.float32)
        np.testing.assert_allclose(single, K, atol=1e-4)
        np.testing.assert_array_equal(lathe.gram(np.asfortranarray(X), weights=W, re_embed=True), K)
        self.assertEqual(len(lathe.last_copies()), 1)
        self.assertEqual(lathe.gram(X, weights=W, packed=True).shape, (78,))

    def test_progress_and_stopping(self):
        seen = []
        lathe.gram(X, weights=W, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1][0], seen[-1][1])
        many = RNG.uniform(0, 1, (4000, 4))
        with self.assertRaises(lathe.CancelledError):
            lathe.gram(many, weights=W, re_embed=True, progress=lambda done, total: False)

        def fails(done, total):
            raise LookupError("mine")
        with self.assertRaisesRegex(LookupError, "mine"):
            lathe.gram(X, weights=W, progress=fails)

    def test_bad_input(self):
        bad = X.copy()
        bad[3, 2] = np.nan
        for call, message in ((lambda: lathe.gram(bad, weights=W), "3"), (lambda: lathe.gram(X[:, :3], weights=W), "3"), (lambda: lathe.gram(X[0], weights=W), "rows and columns"),
                              (lambda: lathe.gram(X, weights=W[0]), r"\[layers, qubits\]"), (lambda: lathe.gram(X, weights=W, entangler="strong"), "strong"),
                              (lambda: lathe.gram(X, weights=W, embedding="ry"), "unknown option"), (lambda: lathe.gram(X.astype(object), weights=W), "type"),
                              (lambda: lathe.gram(X + 1j, weights=W), "type")):
            with self.subTest(message), self.assertRaisesRegex((ValueError, TypeError), message):
                call()

    def test_kernels_are_pickled_and_shown(self):
        kernel = lathe.QuantumKernel(W, re_embed=True)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), kernel(X))
        self.assertIn("iframe", kernel._repr_html_())
        for of_circuit in (lathe.QuantumKernel(map="zz(reps=2)"), lathe.QuantumKernel(np.full((2, 2, 3), 0.1), entangler="strong")):
            self.assertIn("iframe", of_circuit._repr_html_())  # before the first matrix, and after it
            of_circuit(np.full((3, 2), 0.5))
            self.assertIn("3 x 3", of_circuit._repr_html_())
        self.assertIn("4 qubits", repr(kernel))

    @harness.needs("sklearn")
    def test_in_a_support_vector_machine_of_scikit_learn(self):
        from sklearn.svm import SVC
        labels = (X[:, 0] > 0.5).astype(int)
        model = SVC(kernel=lathe.QuantumKernel(W, re_embed=True)).fit(X, labels)
        self.assertGreater(model.score(X, labels), 0.6)


class Files(unittest.TestCase):
    def test_rows_without_the_rest(self):
        for dtype in ("float64", "float32"):
            K = lathe.gram(X, weights=W, re_embed=True, return_dtype=dtype)
            for packed in (False, True):
                np.save("K.npy", lathe.gram(X, weights=W, re_embed=True, return_dtype=dtype, packed=packed))
                file = lathe.GramFile("K.npy")
                self.assertEqual((file.shape, file.dtype, file.packed, len(file)), ((12, 12), np.dtype(dtype), packed, 12))
                for a in range(13):
                    for b in range(a, 13):
                        np.testing.assert_array_equal(file[a:b], K[a:b])
                np.testing.assert_array_equal(file[-1], K[-1])
                np.testing.assert_array_equal(np.concatenate([block for _, block in file.blocks(5)]), K)
                with self.assertRaises(IndexError):
                    file[12]
                with self.assertRaisesRegex(ValueError, "one after the other"):
                    file[::2]

    def test_other_files_are_refused(self):
        for array, said in ((np.zeros(7), "upper half"), (np.zeros((2, 2), int), "float64 or float32"), (np.zeros((2, 2, 2)), "a matrix")):
            np.save("other.npy", array)
            with self.assertRaisesRegex(ValueError, said):
                lathe.GramFile("other.npy")


class Circuits(unittest.TestCase):
    def test_maps_by_name_and_by_text(self):
        K = lathe.gram(X, map="zz", reps=1, entanglement="linear")
        np.testing.assert_array_equal(K, lathe.gram(X, map="zz(reps=1, entanglement=linear)"))
        np.testing.assert_allclose(np.diag(K), 1, atol=1e-12)
        self.assertGreater(np.abs(K - lathe.gram(X, map="zz", reps=2)).max(), 0.01)
        np.testing.assert_allclose(lathe.gram(X, map="pauli", paulis=["Z", "ZZ"], entanglement=[[0, 1], [1, 2]], reps=1),
                                   lathe.gram(X, map="zz", reps=1, entanglement=[(0, 1), (1, 2)]), atol=1e-12)
        states = lathe.QuantumKernel(map="zz", reps=1, entanglement="linear").states(X)
        np.testing.assert_allclose(np.abs(states @ states.conj().T) ** 2, K, atol=1e-12)

    def test_openqasm_and_other_similarities(self):
        kernel = lathe.QuantumKernel(map="iqp")
        K = kernel(X)
        np.testing.assert_allclose(lathe.gram(X, circuit=kernel.qasm()), K, atol=1e-12)
        with open("iqp.qasm", "w") as f:
            f.write(kernel.qasm())
        np.testing.assert_allclose(lathe.gram(X, circuit="iqp.qasm"), K, atol=1e-12)
        drawn = lathe.gram(X, map="iqp", shots=400, seed=1)
        np.testing.assert_array_equal(drawn, lathe.gram(X, map="iqp", shots=400, seed=1))
        self.assertTrue(0 < np.abs(drawn - K).max() < 0.2)
        np.testing.assert_allclose(lathe.gram(X, map="iqp", depolarizing=0.2), 0.8 * K + 0.2 / 2 ** X.shape[1], atol=1e-12)
        self.assertTrue((lathe.gram(X, map="iqp", similarity="projected", gamma=1.0) > 0).all())
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), K)

    def test_gradients_are_those_of_differences(self):
        w = RNG.normal(0, 0.5, (2, X.shape[1], 3))
        kernel = lathe.QuantumKernel(w, map="strong", reupload=True)
        loss = RNG.normal(size=(len(X), len(X)))
        dw, dx = kernel.gradient(X, loss, wrt_x=True)
        self.assertEqual((dw.shape, dx.shape), (w.shape, X.shape))

        def value(weights, rows):
            return np.sum(loss * lathe.gram(rows, weights=weights, map="strong", reupload=True))
        for at in ((0, 0, 0), (1, 2, 1), (0, 3, 2)):
            step = np.zeros_like(w)
            step[at] = 1e-6
            self.assertAlmostEqual(dw[at], (value(w + step, X) - value(w - step, X)) / 2e-6, delta=1e-6 * np.abs(loss).sum())
        step = np.zeros_like(X)
        step[1, 1] = 1e-6
        self.assertAlmostEqual(dx[1, 1], (value(w, X + step) - value(w, X - step)) / 2e-6, delta=1e-6 * np.abs(loss).sum())

    def test_circuit_and_gradients_of_layers(self):
        for shape, options in (((2, 4), {"re_embed": True, "angle_scale": 0.7}), ((3, 4), {"embed": "ry"}), ((2, 4, 3), {"entangler": "strong", "re-embed": "true"}), ((2, 2), {}), ((1, 1), {}),
                               ((2, 1, 3), {"entangler": "strong"}), ((3, 2, 3), {"entangler": "strong", "embed": "angle"})):
            with self.subTest(shape, **options):
                w, rows = RNG.normal(0, 0.5, shape), RNG.normal(size=(5, shape[1]))
                kernel = lathe.QuantumKernel(w, **options)
                np.testing.assert_allclose(lathe.gram(rows, circuit=kernel.qasm(), weights=w), kernel(rows), atol=1e-12)
                loss = RNG.normal(size=(5, 5))
                dw, dx = kernel.gradient(rows, loss, wrt_x=True)
                step, along = 1e-6 * RNG.normal(size=shape), 1e-6 * RNG.normal(size=rows.shape)
                moved = [np.sum(loss * lathe.QuantumKernel(w + s * step, **options)(rows + s * along)) for s in (1, -1)]
                self.assertAlmostEqual(np.sum(dw * step) + np.sum(dx * along), (moved[0] - moved[1]) / 2, delta=1e-11)

    def test_mistakes(self):
        for call, message in ((lambda: lathe.gram(X), "weights of the layers are missing"), (lambda: lathe.gram(X, map="zz", circuit="x"), "both name a circuit"),
                              (lambda: lathe.gram(X, map="spin"), "spin"), (lambda: lathe.gram(X, map="zz", repetitions=1), "repetitions"),
                              (lambda: lathe.gram(X, map="zz(reps=1)", entanglement="full"), "has its arguments in it"),
                              (lambda: lathe.gram(X, circuit="OPENQASM 3.0;\nqubit q; measure q;"), "circuit, line 2, column 10"), (lambda: lathe.gram(X, map="strong"), "0 weights, expected"),
                              (lambda: lathe.QuantumKernel(map="zz").qasm(), "first X")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                call()


class Machines(unittest.TestCase):
    def test_fit_decide_save_load(self):
        x = RNG.uniform(0, 1, (60, 4))
        y = (x[:, 0] + x[:, 1] > 1).astype(int)
        machine = _core.QSVM({"folds": 0, "c": 1.0, "seed": 3})
        machine.fit(x, y)
        decision = machine.decide(x)
        self.assertGreater(np.mean((decision > machine.info["quantum"]["threshold"]) == y), 0.8)
        machine.save("model.npz")
        np.testing.assert_array_equal(_core.QSVM.load("model.npz").decide(x), decision)
        self.assertEqual(machine.kernel.shape, (60, 60))
        with self.assertRaisesRegex(ValueError, "59 labels for 60 rows"):
            machine.fit(x, y[:59])
        with self.assertRaises(ValueError):
            machine.fit(x, y + 1)


if __name__ == "__main__":
    harness.main()
