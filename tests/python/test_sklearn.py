"""QSVC among scikit-learn's own: its checks, pipelines, grid search, cross-validation, cloning, pickling."""
import pickle
import unittest
import warnings

import harness
import lathe
import numpy as np

RNG = np.random.default_rng(11)
X = RNG.uniform(-3, 5, (90, 3))
TWO = np.where(X[:, 0] > X[:, 1], "above", "below")
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 2], [0.0, 3.0])


@harness.needs("sklearn")
class Estimator(unittest.TestCase):
    def test_the_checks_of_scikit_learn(self):
        from lathe.sklearn import QSVC
        from sklearn.utils.estimator_checks import check_estimator
        for model in (QSVC(), QSVC(re_embed=True, embed="angle", layers=1, C=10.0), QSVC(entangler="strong", range="none", angle_scale=0.5)):
            with self.subTest(model), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_estimator(model)

    def test_the_example_of_the_module(self):
        import doctest
        import lathe.sklearn as module
        result = doctest.testmod(module)
        self.assertEqual((result.failed, result.attempted > 3), (0, True))

    def test_it_is_svc_on_the_matrix_of_gram(self):
        from lathe.sklearn import QSVC
        from sklearn.preprocessing import MinMaxScaler
        from sklearn.svm import SVC
        weights = RNG.normal(0, 0.5, (2, 3))
        angles = MinMaxScaler().fit_transform(X)
        for y in (TWO, THREE):
            for shape in ("ovr", "ovo"):
                ours = QSVC(weights, re_embed=True, C=5, decision_function_shape=shape).fit(X[:60], y[:60])
                scaled = MinMaxScaler().fit(X[:60]).transform(X)
                by_hand = SVC(kernel="precomputed", C=5, tol=1e-8, decision_function_shape=shape).fit(lathe.gram(scaled[:60], weights=weights, re_embed=True), y[:60])
                K = lathe.gram(scaled[60:], scaled[:60], weights=weights, re_embed=True)
                np.testing.assert_array_equal(ours.predict(X[60:]), by_hand.predict(K))
                np.testing.assert_allclose(ours.decision_function(X[60:]), by_hand.decision_function(K), atol=1e-6)
        self.assertEqual(ours.decision_function(X).shape, (90, 3))
        self.assertEqual(ours.kernel_.info["qubits"], 3)
        direct = SVC(kernel=lathe.QuantumKernel(weights, re_embed=True), C=5, tol=1e-8).fit(angles, TWO)
        np.testing.assert_array_equal(direct.predict(angles), QSVC(weights, re_embed=True, C=5).fit(X, TWO).predict(X))

    def test_blocks_of_rows_change_nothing(self):
        from lathe import sklearn as ours
        model = ours.QSVC(re_embed=True, random_state=0).fit(X, THREE)
        whole = model.decision_function(X)
        kept, ours.BLOCK_ROWS = ours.BLOCK_ROWS, 7
        try:
            np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
        finally:
            ours.BLOCK_ROWS = kept

    def test_principal_components(self):
        from lathe.sklearn import QSVC
        wide = X @ RNG.standard_normal((3, 40)) + 0.01 * RNG.standard_normal((90, 40))
        model = QSVC(qubits=3, re_embed=True, C=10, random_state=1).fit(wide, TWO)
        self.assertEqual(model.components_.shape, (3, 40))
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)
        self.assertTrue((model.support_vectors_ >= -1e-12).all() and (model.support_vectors_ <= 1 + 1e-12).all())
        self.assertGreater(model.score(wide, TWO), 0.9)
        self.assertEqual(QSVC().fit(wide, TWO).components_.shape, (16, 40))
        with self.assertRaisesRegex(ValueError, "5 qubits: the 90 samples span 3"):
            QSVC(qubits=5).fit(X @ np.ones((3, 9)) + X @ RNG.standard_normal((3, 9)), TWO)

    def test_pipelines_and_searches(self):
        from lathe.sklearn import QSVC
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC
        self.assertGreater(cross_val_score(QSVC(re_embed=True, C=10, random_state=0), X, TWO, cv=3).mean(), 0.85)
        pipe = make_pipeline(StandardScaler(), QSVC(random_state=0))
        search = GridSearchCV(pipe, {"qsvc__C": [0.1, 10], "qsvc__embed": ["ry", "ryrz"], "qsvc__re_embed": [False, True]}, cv=3).fit(X, TWO)
        self.assertEqual(len(search.cv_results_["params"]), 8)
        self.assertTrue(np.isfinite(search.cv_results_["mean_test_score"]).all())
        self.assertGreater(search.score(X, TWO), 0.85)
        kernels = GridSearchCV(SVC(kernel=lathe.QuantumKernel(np.full((1, 3), 0.1))), {"kernel__embed": ["ry", "ryrz"], "kernel__angle_scale": [0.3, 1.0]}, cv=3)
        kernels.fit(X, TWO)
        self.assertEqual(kernels.best_estimator_.kernel.options["embed"], kernels.best_params_["kernel__embed"])
        parallel = cross_val_score(QSVC(re_embed=True, random_state=0), X, THREE, cv=3, n_jobs=2)
        np.testing.assert_array_equal(parallel, cross_val_score(QSVC(re_embed=True, random_state=0), X, THREE, cv=3))

    def test_cloned_and_pickled(self):
        from lathe.sklearn import QSVC
        from sklearn.base import clone
        model = QSVC(RNG.normal(size=(2, 3)), re_embed=True, C=3, class_weight="balanced")
        again = clone(model)
        self.assertEqual({k: v for k, v in again.get_params().items() if k != "weights"}, {k: v for k, v in model.get_params().items() if k != "weights"})
        np.testing.assert_array_equal(again.weights, model.weights)
        model.fit(X, THREE)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))
        kernel = clone(lathe.QuantumKernel(model.weights, embed="ry"))
        self.assertEqual(kernel.set_params(embed="ryrz").options, {"embed": "ryrz"})
        with self.assertRaises(ValueError):
            kernel.set_params(embed="rx")
        self.assertEqual(kernel.options, {"embed": "ryrz"})

    def test_weights_of_samples_and_classes(self):
        from lathe.sklearn import QSVC
        weight = RNG.integers(0, 3, 90)
        weighed = QSVC(random_state=0, re_embed=True).fit(X, THREE, sample_weight=weight)
        repeated = QSVC(random_state=0, re_embed=True).fit(X.repeat(weight, axis=0), THREE.repeat(weight))
        np.testing.assert_allclose(weighed.decision_function(X), repeated.decision_function(X), atol=1e-5)
        self.assertTrue((weight[weighed.support_] > 0).all())
        heavy = QSVC(class_weight={"above": 1000.0}, C=0.01).fit(X, TWO)
        self.assertEqual(set(heavy.predict(X)), {"above"})

    def test_parameters_are_those_of_the_library(self):
        from lathe.sklearn import QSVC
        names = {o["name"].replace("-", "_") for o in lathe.options("gram")} - {"packed", "return_dtype", "symmetric"}
        self.assertLessEqual(names, set(QSVC().get_params()))
        self.assertEqual(repr(QSVC(C=2, embed="ry")), "QSVC(C=2, embed='ry')")
        self.assertIs(QSVC().set_params(re_embed=True).re_embed, True)

    def test_progress_and_bad_input(self):
        from lathe.sklearn import QSVC
        seen = []
        QSVC(progress=lambda done, total: seen.append((done, total))).fit(X, TWO).predict(X)
        self.assertEqual(seen[-1], (90, 90))
        bad = X.copy()
        bad[4, 1] = np.inf
        for call, message in ((lambda: QSVC(embedding="ry"), "no parameter 'embedding'"), (lambda: QSVC(qubits=4).fit(X, TWO), "qubits = 4"), (lambda: QSVC(range="two").fit(X, TWO), "range = 'two'"),
                              (lambda: QSVC(np.zeros((2, 4))).fit(X, TWO), r"\(2, 4\)"), (lambda: QSVC(embed="rx").fit(X, TWO), "rx"), (lambda: QSVC().fit(bad, TWO), "infinity"),
                              (lambda: QSVC().fit(X, np.zeros(90)), "class"), (lambda: QSVC().fit(X, TWO).predict(X[:, :2]), "2 features"), (lambda: QSVC(C=-1.0).fit(X, TWO), "C"),
                              (lambda: QSVC(layers=0).fit(X, TWO), "layers"), (lambda: QSVC().set_params(embedding="ry"), "embedding")):
            with self.subTest(message), self.assertRaisesRegex((ValueError, TypeError), message):
                call()


@harness.needs("sklearn")
class OtherEstimators(unittest.TestCase):
    def test_the_checks_of_scikit_learn(self):
        from lathe.sklearn import QSVR, QOneClassSVM
        from sklearn.utils.estimator_checks import check_estimator
        for model in (QSVR(C=10.0), QOneClassSVM(tol=1e-12), QSVR(map="zz(reps=1)")):
            with self.subTest(model), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_estimator(model)

    def test_maps_take_the_place_of_layers(self):
        from lathe.sklearn import QSVC, QSVR
        from sklearn.base import clone
        from sklearn.svm import SVC
        angles = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        K = lathe.gram(angles, map="zz", reps=1)
        ours = QSVC(map="zz(reps=1)", C=5).fit(X, THREE)
        np.testing.assert_array_equal(ours.predict(X), SVC(kernel="precomputed", C=5, tol=1e-8).fit(K, THREE).predict(K))
        self.assertEqual(clone(ours).get_params()["map"], "zz(reps=1)")
        written = QSVC(circuit=ours.kernel_.qasm(), C=5).fit(X, THREE)
        np.testing.assert_array_equal(written.predict(X), ours.predict(X))
        np.testing.assert_array_equal(clone(written).fit(X, THREE).predict(X), ours.predict(X))
        with self.assertRaisesRegex(lathe.ArgumentError, "both name a circuit"):
            QSVC(map="zz", circuit=ours.kernel_.qasm()).fit(X, THREE)
        values = np.sin(X[:, 0])
        self.assertGreater(pickle.loads(pickle.dumps(QSVR(map="zz(reps=1)", C=10).fit(X, values))).score(X, values), 0.8)


@harness.needs("sklearn")
class OwnMachines(unittest.TestCase):
    """The machines of the library against scikit-learn's on the same kernel: all 1797 digits on 8 principal components."""

    @classmethod
    def setUpClass(cls):
        from sklearn.datasets import load_digits
        from sklearn.decomposition import PCA
        rows, cls.labels = load_digits(return_X_y=True)
        reduced = PCA(8, svd_solver="full").fit_transform(rows)
        cls.rows = rows
        cls.K = lathe.gram((reduced - reduced.min(axis=0)) / np.ptp(reduced, axis=0), map="zz", reps=1)

    def machine(self, y, weight=None, **options):
        from lathe import _core
        own = _core.QSVM({"folds": 0, "tolerance": 1e-6, **options}, classes=10 if options.get("task", "classify") == "classify" else 0, precomputed=True)
        own.fit(self.K, y, weight)
        return own, own.decide(self.K)

    def test_classes_of_the_digits(self):
        from sklearn.svm import SVC
        for C, balanced in ((3.0, False), (0.05, True)):
            theirs = SVC(kernel="precomputed", C=C, tol=1e-6, class_weight="balanced" if balanced else None, decision_function_shape="ovo").fit(self.K, self.labels)
            for solver in ("smo", "libsvm"):
                with self.subTest(solver, C=C):
                    try:
                        own, decision = self.machine(self.labels, c=C, solver=solver, balanced=balanced)
                    except lathe.Error as error:
                        self.assertIn("built without", str(error))
                        continue
                    np.testing.assert_array_equal(own.labels(decision), theirs.predict(self.K))
                    np.testing.assert_allclose(-decision, theirs.decision_function(self.K), atol=2e-5)

    def test_weights_of_rows(self):
        from sklearn.svm import SVC
        weight = np.random.default_rng(5).uniform(0, 2, len(self.labels))
        own, decision = self.machine(self.labels, weight, c=0.05, balanced=False)
        theirs = SVC(kernel="precomputed", C=0.05, tol=1e-6, decision_function_shape="ovo").fit(self.K, self.labels, weight)
        np.testing.assert_array_equal(own.labels(decision), theirs.predict(self.K))
        np.testing.assert_allclose(-decision, theirs.decision_function(self.K), atol=2e-5)

    def test_probabilities(self):
        own, decision = self.machine(self.labels, c=3.0, probability=True)
        p = own.probabilities(decision)
        self.assertEqual(p.shape, (1797, 10))
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
        self.assertGreater(np.mean(p.argmax(axis=1) == self.labels), 0.97)

    def test_numbers(self):
        from sklearn.svm import SVR
        values = self.labels + 0.1 * self.rows[:, 20]
        decision = self.machine(values, c=5.0, epsilon=0.2, task="regress")[1]
        theirs = SVR(kernel="precomputed", C=5.0, epsilon=0.2, tol=1e-6).fit(self.K, values)
        np.testing.assert_allclose(decision, theirs.predict(self.K), atol=2e-5)

    def test_one_class(self):
        from sklearn.svm import OneClassSVM
        own, decision = self.machine(None, nu=0.2, task="one-class")
        theirs = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-6).fit(self.K)
        expected = theirs.decision_function(self.K)
        np.testing.assert_allclose(decision, expected, atol=2e-5)
        clear = np.abs(expected) > 2e-5
        np.testing.assert_array_equal(own.labels(decision)[clear], theirs.predict(self.K)[clear])


class WithoutIt(unittest.TestCase):
    def test_a_clear_sentence_names_the_package(self):
        said = harness.run_code("import sys; sys.modules['sklearn'] = None\nimport lathe\ntry:\n    lathe.sklearn\nexcept ImportError as e:\n    print(e)")
        self.assertIn("pip install scikit-learn", said)


if __name__ == "__main__":
    harness.main()
