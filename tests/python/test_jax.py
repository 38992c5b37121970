"""JAX code becomes graphs: primitives, what is refused, functions that are called. SPDX-License-Identifier: BSD-3-Clause"""
import unittest

import harness
import lathe
import numpy as np

try:
    import jax
    import jax.numpy as jnp
    rng = np.random.default_rng(0)
    X, Y = jnp.asarray(rng.standard_normal((3, 4))), rng.standard_normal((3, 4))
except ImportError:
    jax = None


def captured(function, *arguments):
    return lathe.capture.capture(function, [np.asarray(a, dtype=float) for a in arguments], list(arguments))


def ops():
    return {
        "arithmetic": lambda a: jnp.sum(8 * abs(a**2 - Y) + (1 - a) ** 2 / 3 + 2.0**a + jnp.abs(a) ** 1.5),
        "products": lambda a: jnp.sum(a @ Y.T) + jnp.einsum("ij,kj->", a, Y) + jnp.sum(jnp.matmul(a[None], Y.T[None])) + jnp.vdot(a, Y),
        "norms": lambda a: jnp.linalg.norm(a) + jnp.sum(jnp.linalg.norm(a, axis=1)) + jnp.max(jnp.abs(a)) + jnp.linalg.norm(a, "nuc"),
        "eigenvalues": lambda a: jnp.max(jnp.linalg.eigvalsh(a @ a.T)) + jnp.sum(jnp.linalg.svd(a, compute_uv=False)),
        "shapes": lambda a: jnp.sum(a[1:, ::2] ** 2) + a[0, 1] + jnp.sum(a[:, jnp.array([0, 2])] ** 2) + jnp.sum(jnp.concatenate([a, Y]) ** 2) + jnp.sum(jnp.flip(a) * a),
        "choices": lambda a: jnp.sum(jnp.where(a > 0, a, 0.5 * a)) + jnp.sum(jnp.clip(a, -1, 1)) + jnp.sum(jnp.maximum(a, Y)) + jnp.max(a),
        "activations": lambda a: jnp.sum(jax.nn.relu(a) + jax.nn.sigmoid(a) + jax.nn.silu(a) + jax.nn.gelu(a) + jnp.tanh(a) + jax.nn.softplus(a)),
        "softmax": lambda a: -jnp.mean(jax.nn.log_softmax(a)[jnp.arange(3), jnp.array([0, 1, 2])]) + jax.scipy.special.logsumexp(a),
        "sorted": lambda a: jnp.sum(jnp.sort(a) * Y) + jnp.median(a) + jnp.sum(a[jnp.argsort(a[:, 0])][0]) + a[jnp.argmax(a[:, 1]), 2] + jax.lax.top_k(a, 2)[0].sum() + jnp.argsort(a)[0, 0] * a[0, 0],
        "jit": lambda a: jax.jit(lambda b: jnp.sum(b * b))(a),
        "stopped": lambda a: jnp.sum(jax.lax.stop_gradient(a) * a),
    }


@unittest.skipIf(jax is None, "not installed: jax (scripts/test-python.sh)")
class Jax(unittest.TestCase):
    def test_each_group_is_captured(self):
        for name, function in ops().items():
            with self.subTest(name):
                self.assertIn("captured from JAX code", captured(function, X).how)

    def test_refused_by_name(self):
        for function, words in ((lambda a: jnp.sum(a * jax.random.normal(jax.random.key(0), (3, 4))), "draws random numbers"),
                                (lambda a: jnp.sum(a) if a[0, 0] > 0 else 0.0, "branches on a value"),
                                (lambda a: jnp.sum(jnp.linalg.svd(a)[0]), "vectors"), (lambda a: jnp.sum(jax.lax.sort((a, a), num_keys=2)[0]), "sort by several keys")):
            with self.assertRaisesRegex(lathe.CaptureError, words):
                captured(function, X)

    def test_captured_and_called_agree(self):
        def function(x):
            return 8 * jnp.abs(x[0] ** 2 - x[1]) + (1 - x[0]) ** 2, [2**0.5 * x[0] - 1, 2 * x[1] - 1]
        graph, called = (lathe.solve(function, x0=jnp.array([5.5, 5.5]), mu0=100, maxit=10, capture=c, **harness.AS_PUBLISHED) for c in ("always", "never"))
        self.assertIn("captured from JAX code", graph.how)
        self.assertIn("JAX's reverse mode", called.how)
        np.testing.assert_allclose(graph.history[:, 4], called.history[:, 4], rtol=1e-9)
        self.assertAlmostEqual(called.final.f, 9.27057783616, places=9)


if __name__ == "__main__":
    harness.main()
