"""NumPy code becomes graphs: every function of the tables against NumPy, random expressions, and what is refused by name."""
import random
import unittest

import harness
import lathe
import numpy as np
from lathe import capture
from lathe.capture import check


def captured(f, *arrays):
    """What the graph gives, after the check of values and derivatives."""
    made = capture.trace(capture.front("numpy"), f, list(arrays))
    check.check(made, f, list(arrays), check.original(made.front, f, list(arrays)))
    return made


RNG = np.random.default_rng(3)
A, B, V = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 3)), RNG.standard_normal(5)
S = A @ A.T + 4 * np.eye(4)
P = np.abs(V) + 0.5
T = RNG.standard_normal((2, 3, 4))

CASES = {
    "arithmetic": (lambda x: (x + 2) * (3 - x) / (x * x + 1) - x ** 3 + 2 ** x - abs(x) + (-x), V),
    "roots": (lambda x: np.sqrt(x) + np.cbrt(x) + x ** 0.5 + np.reciprocal(x) + x ** -2, P),
    "exponentials": (lambda x: np.exp(x) + np.expm1(x) + np.log(x) + np.log1p(x) + np.log2(x) + np.log10(x) + np.exp2(x), P),
    "trigonometry": (lambda x: np.sin(x) + np.cos(x) * np.tan(x / 4) + np.arctan(x) + np.arctan2(x, 2 + x * x) + np.hypot(x, 1.5), V),
    "inverse trigonometry": (lambda x: np.arcsin(x / 9) + np.arccos(x / 9) + np.arcsinh(x) + np.arctanh(x / 9) + np.arccosh(2 + x * x), V),
    "hyperbolic": (lambda x: np.sinh(x) + np.cosh(x) + np.tanh(x) + np.logaddexp(x, 1.0), V),
    "rounding": (lambda x: np.floor(x) + np.ceil(x) + np.sign(x) + np.trunc(x) + x % 0.7 + x // 0.9, V),
    "min max": (lambda x: np.maximum(x, 0) + np.minimum(x, x[::-1]) + np.clip(x, -0.5, 0.5) + np.clip(x, None, x[0]), V),
    "where": (lambda x: np.where(x > 0, x ** 2, -x) + np.where((x > -1) & (x < 1) | (x == 2), 1.0, x) + np.select([x < 0, x < 1], [x, 2 * x], 0.5), V),
    "logic": (lambda x: (x > 0) * x + np.logical_not(x > 0) * 2.0 + np.logical_xor(x > 0, x < 1) + (~(x > 0)) * 1.0 + (x != 0), V),
    "sums": (lambda x: [x.sum(), x.sum(axis=0), np.sum(x, axis=(0, 2)), x.mean(-1, keepdims=True), np.prod(x, axis=1), x.var(), x.std(axis=1, ddof=1)], T),
    "extremes": (lambda x: [x.max(), np.min(x, axis=1), np.amax(x, axis=(0, 1)), np.ptp(x, axis=2), np.take_along_axis is not None and x.min()], T),
    "cumulative": (lambda x: [np.cumsum(x), np.cumsum(x, axis=1), np.diff(x, axis=-1), np.diff(x, 2, axis=2)], T),
    "shapes": (lambda x: [x.reshape(6, 4), x.T, np.transpose(x, (1, 0, 2)), x.ravel(), np.swapaxes(x, 0, 2), np.moveaxis(x, 0, -1), x[:, None].squeeze(1)], T),
    "joining": (lambda x: [np.concatenate([x, 2 * x]), np.stack([x, x], axis=1), np.vstack([x, x]), np.hstack([x, np.zeros((4, 2))]),
                           np.block([[x, x], [np.eye(3), np.eye(3)]]), np.tile(x, (2, 1)), np.repeat(x, 2, axis=0), np.column_stack([x[:, 0], x])], B),
    "sorted": (lambda x: [np.sort(x), np.sort(x, axis=0)[0], np.sort(x, None)[3:5], -np.sort(-np.abs(x))[:, :2].sum(), np.partition(x, 2, axis=0)[:2].sum(0), np.median(x),
                          np.median(x, axis=0), np.median(x, axis=1, keepdims=True), np.sort(np.concatenate([x.ravel(), x.ravel() / 2]))], B),
    "positions": (lambda x: [x[np.argsort(x[:, 0])], x[:, np.argmax(x[1])], x[0, x[2].argsort()[1:]], x.ravel()[np.argmin(x)], np.take(x, np.argsort(x[0]), axis=1),
                             np.take_along_axis(x, np.argsort(x, axis=1), 1), np.argsort(x, axis=0) * 1.0, x[np.argmax(x, axis=0)]], B),
    "splitting": (lambda x: [*np.split(x, 2, axis=0), np.flip(x), np.roll(x, 1), np.roll(x, 2, axis=1), np.pad(x, ((1, 0), (0, 2)))], B),
    "indexing": (lambda x: [x[0], x[-1, 2], x[1:3], x[:, ::2], x[::-1], x[..., 1], x[None, 0], x[[2, 0, 2]], x[:, [1, 0]], x[[0, 1], [2, 2]], x[np.array([True, False, True, False])]], B),
    "triangles": (lambda x: [np.triu(x), np.tril(x, -1), np.diag(x), np.diag(np.diag(x)), np.diag(x[0], 1), np.trace(x), x[np.triu_indices(4)], np.diagonal(x, 1)], A),
    "products": (lambda x: [x @ B, np.dot(x, x), x @ B[:, 0], np.outer(x[0], x[1]), np.inner(x, x), np.vdot(x, x), np.tensordot(x, B, axes=1), np.kron(x, B),
                            np.cross(x[0, :3], x[1, :3]), np.matmul(B.T, x)], A),
    "einsum": (lambda x: [np.einsum("ij,jk->ik", x, B), np.einsum("ij,ij", x, x), np.einsum("ii->i", x), np.einsum("ij->j", x), np.einsum("ij,kj,kl->il", x, x, x),
                          np.einsum("...ij->...ji", x), np.einsum("ij,kl->ijkl", x, B)], A),
    "batched products": (lambda x: [x @ np.swapaxes(x, 1, 2), np.einsum("bij,bkj->bik", x, x), np.matmul(x, np.ones((4, 2)))], T),
    "norms": (lambda x: [np.linalg.norm(x), np.linalg.norm(x, 1), np.linalg.norm(x, np.inf), np.linalg.norm(x, "nuc"), np.linalg.norm(x, 2), np.linalg.norm(x, axis=0),
                         np.linalg.norm(x, 3, axis=1), np.linalg.norm(x[0]), np.linalg.norm(x[0], 1), np.linalg.norm(x[0], np.inf)], B),
    "inverse": (lambda x: [np.linalg.inv(x), np.linalg.det(x), np.linalg.slogdet(x)[1], np.linalg.slogdet(x)[0], np.linalg.solve(x, B), np.linalg.matrix_power(x, 3),
                           np.linalg.cond(x)], S),
    "cholesky": (lambda x: np.linalg.cholesky(x @ x.T + np.eye(4)), A),
    "eigenvalues": (lambda x: [np.linalg.eigvals(x).real.max(), np.abs(np.linalg.eigvals(x)).max(), np.linalg.eigvalsh(x + x.T), np.linalg.eigh(x + x.T)[0]], A),
    "singular values": (lambda x: [np.linalg.svd(x, compute_uv=False), np.linalg.svd(x)[1].sum(), np.linalg.svd(x, full_matrices=False)[1][0]], B),
    "constants": (lambda x: [np.zeros_like(x), np.full_like(x, 2.0) * x, 3.0, np.arange(3.0), x.copy()], V),
    "average": (lambda x: [np.average(x), np.average(x, weights=P), np.nan_to_num(x)], V),
}


class Functions(unittest.TestCase):
    def test_each_group_equals_numpy(self):
        for name, (f, x) in CASES.items():
            with self.subTest(name):
                captured(f, x)

    def test_single_precision(self):
        captured(lambda x: np.sum(np.sin(x) * x + 1.5), V.astype(np.float32))
        for scale in (1.0, 10.0, 100.0):  # inside of a function of doubles
            captured(lambda x: np.sum(np.sin((scale * x).astype(np.float32)) ** 2), V)

    def test_whole_numbers(self):
        made = captured(lambda i, x: (i * 2 + 1) * x / i, np.arange(1, 6), V)
        self.assertEqual(made.outputs[0].dtype, np.float64)


# ---- Random expressions -------------------------------------------------------------------------------------------------------
ONE = [np.sin, np.cos, np.tanh, np.abs, np.square, lambda x: np.exp(-np.square(x)), lambda x: np.sqrt(1 + x * x), lambda x: x.T, lambda x: x[::-1],
       lambda x: np.log1p(x * x), lambda x: np.maximum(x, 0.1), lambda x: np.where(x > 0.2, x, 0.5 * x), lambda x: x - x.mean(axis=0), lambda x: x[[2, 0, 1]],
       lambda x: np.roll(x, 1, axis=1), lambda x: x / (1 + np.linalg.norm(x)), lambda x: np.cumsum(x, axis=1), lambda x: np.clip(x, -2, 2)]
TWO = [np.add, np.subtract, np.multiply, np.matmul, np.maximum, np.minimum, lambda a, b: a / (1.5 + b * b), np.hypot, lambda a, b: np.einsum("ij,kj->ik", a, b),
       lambda a, b: np.concatenate([a[:1], b[1:]]), lambda a, b: np.stack([a, b]).mean(axis=0)]
LAST = [np.sum, lambda x: np.linalg.norm(x), np.max, lambda x: x.sum(axis=0).max(), lambda x: np.linalg.svd(x, compute_uv=False).sum(), lambda x: np.trace(x), lambda x: x]


def expression(seed):
    """A random function of a 3 x 3 matrix: a straight line of ops."""
    r = random.Random(seed)
    steps = [(r.choice(ONE), None) if r.random() < 0.6 else (r.choice(TWO), r.random()) for _ in range(r.randint(2, 8))]
    last = r.choice(LAST)

    def f(x):
        values = [x]
        for op, second in steps:
            values.append(op(values[-1]) if second is None else op(values[-1], values[int(second * len(values))]))
        return last(values[-1])
    return f


class RandomExpressions(unittest.TestCase):
    def test_captured_equals_numpy(self):
        for seed in range(300):
            x = np.random.default_rng(seed).standard_normal((3, 3))
            with self.subTest(seed=seed):
                captured(expression(seed), x)


# ---- What is refused ----------------------------------------------------------------------------------------------------------
def branches(x):
    return x.sum() if x[0] > 0 else -x.sum()


def in_place(x):
    y = x * 2
    y += 1
    return y.sum()


def writes(x):
    y = np.zeros(5)
    y[0] = x[0]
    return y.sum()


def sets(x):
    y = x * 1
    y[0] = 3
    return y.sum()


REFUSED = {
    "branches on a value": branches,
    "in place": in_place,
    "plain number": writes,
    "writes into an array in place": sets,
    r"\.item\(\)": lambda x: x[0].item(),
    r"\.tolist\(\)": lambda x: sum(x.tolist()),
    "random": lambda x: x.sum() + np.random.rand(),
    "several arrays, one of them computed": lambda x: np.outer(x, x)[np.argsort(x), np.argsort(x)].sum(),
    "np.unique has no op": lambda x: np.unique(x).sum(),
    "computed mask": lambda x: x[x > 0].sum(),
    "np.where with one argument": lambda x: np.where(x > 0)[0].sum(),
    "plain array": lambda x: np.array([x[0], x[1]]).sum(),
    "singular vectors": lambda x: np.linalg.svd(np.outer(x, x))[0].sum(),
    "eigenvectors": lambda x: np.linalg.eigh(np.outer(x, x))[1].sum(),
    "complex": lambda x: np.sum(x * 1j).real,
    "out=": lambda x: np.add(x, 1, out=np.zeros(5)).sum(),
    "returned a str": lambda x: "text",
    "ZeroDivisionError": lambda x: x.sum() / 0 if False else 1 / 0,
}


class Effects(unittest.TestCase):
    """What a function does besides is noticed in one call, so that no graph takes its place without it."""

    def test_by_name(self):
        history, cache = [], {}

        class Counter:
            def __init__(self):
                self.n, self.log = 0, np.zeros(3)

            def count(self, x):
                self.n += 1
                return np.sum(x**2)

            def write(self, x):
                self.log[0] += 1
                return np.sum(x**2)

        def appends(x):
            history.append(1)
            return np.sum(x**2)

        def stores(x):
            cache["last"] = 1
            return np.sum(x**2)

        def attribute(x):
            attribute.calls = getattr(attribute, "calls", 0) + 1
            return np.sum(x**2)

        def inner(x):
            return appends(x) + 1
        c = Counter()
        for function, words in ((c.count, "changes 'self.n'"), (c.write, "changes 'self.log'"), (appends, "changes 'history'"), (inner, "changes 'history'"),
                                (stores, "changes 'cache"), (attribute, "changes 'calls'"), (lambda x: print(end=" ") or np.sum(x**2), "prints")):
            with self.subTest(words):
                self.assertIn(words, lathe.solve(function, x0=np.ones(2)).how)
                self.assertTrue(lathe.solve(function, x0=np.ones(2), capture="always").how.startswith("captured"))

    def test_what_changes_nothing_is_captured(self):
        class Model:
            weights, table = np.arange(3.0), {"a": [1, 2]}

            def loss(self, x):
                made = []
                for w in self.weights[:2]:
                    made.append(w * x)
                self_made = {"x": made[0]}
                return np.sum(np.abs(self_made["x"] + made[1] - self.table["a"][0]))
        self.assertTrue(lathe.solve(Model().loss, x0=np.ones(2)).how.startswith("captured"))


class Refusals(unittest.TestCase):
    def test_by_name(self):
        for reason, f in REFUSED.items():
            with self.subTest(reason), self.assertRaisesRegex(lathe.CaptureError, reason):
                captured(f, V)

    def test_a_graph_that_differs_is_noticed(self):
        state = []

        def counts(x):
            state.append(1)
            return x.sum() * len(state)
        with self.assertRaisesRegex(lathe.CaptureError, "by the function"):
            captured(counts, V)

    def test_the_users_line_is_named(self):
        with self.assertRaisesRegex(lathe.CaptureError, r"test_capture\.py:\d+"):
            capture.capture(branches, [V])

    def test_solve_goes_on_with_calls_and_says_why(self):
        s = lathe.solve(branches, x0=np.ones(3), maxit=3, capture="verify")
        self.assertRegex(s.how, r"called from C.*branches on a value \(test_capture\.py:\d+\)")
        with self.assertRaises(lathe.CaptureError):
            lathe.solve(branches, x0=np.ones(3), capture="always")


if __name__ == "__main__":
    harness.main()
