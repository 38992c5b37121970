"""Properties: random NumPy expressions and random small torch modules, captured, equal the original in values and gradients. SPDX-License-Identifier: BSD-3-Clause

Capture compares them itself at two points; here they are compared at a third, by programs of their own, and gradients by PyTorch's reverse mode or
central differences. Expressions are made of functions that are smooth where they are evaluated, so that differences mean something.
"""
import os
import unittest

import harness
import lathe
import numpy as np

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

ONE = [np.tanh, np.sin, np.cos, lambda a: np.exp(a / 4), lambda a: np.sqrt(1 + a * a), lambda a: np.log1p(a * a), np.arctan, lambda a: a**3 / 9, lambda a: 1 / (2 + a * a), np.negative]
TWO = [np.add, np.subtract, np.multiply, lambda a, b: a / (2 + b * b), np.hypot, lambda a, b: np.where(b > 0, a, 2 * a), lambda a, b: np.logaddexp(a, b)]
SHAPES = [lambda a: a.T, lambda a: a[::-1], lambda a: np.roll(a, 1, 0), lambda a: a - a.mean(0), lambda a: np.concatenate([a[1:], a[:1]]), lambda a: a @ a.T @ a / 9,
          lambda a: a.reshape(-1).reshape(a.shape), lambda a: np.cumsum(a, 1) / 3, lambda a: np.broadcast_to(a.sum(1, keepdims=True) / 3, a.shape)]


def expression(rng, depth):
    """A function of one 3 x 3 array."""
    if depth == 0:
        constant = rng.uniform(-1, 1, (3, 3))
        return (lambda a: a) if rng.random() < 0.7 else (lambda a: a * 0 + constant)
    kind = rng.integers(0, 3)
    left = expression(rng, depth - 1)
    if kind == 0:
        op = ONE[rng.integers(len(ONE))]
        return lambda a: op(left(a))
    if kind == 1:
        op, right = TWO[rng.integers(len(TWO))], expression(rng, depth - 1)
        return lambda a: op(left(a), right(a))
    op = SHAPES[rng.integers(len(SHAPES))]
    return lambda a: op(left(a))


class NumPy(unittest.TestCase):
    def test_expressions(self):
        for seed in range(int(os.environ.get("LATHE_SEEDS", "60"))):
            rng = np.random.default_rng(seed)
            inner = expression(rng, int(rng.integers(1, 5)))

            def f(a):
                return np.sum(inner(a) * WEIGHTS) + np.sum(a * a) / 10
            with self.subTest(seed=seed):
                g, x = lathe.function(f, capture="always"), rng.uniform(0.2, 1.5, (3, 3))
                self.assertAlmostEqual(float(g(x)), float(f(x)), delta=1e-11 * (1 + abs(float(f(x)))))
                step, h = rng.standard_normal((3, 3)), 1e-6
                slope = (f(x + h * step) - f(x - h * step)) / (2 * h)
                self.assertAlmostEqual(float(np.sum(g.grad(x) * step)), float(slope), delta=1e-5 * (1 + abs(float(slope))))


WEIGHTS = np.linspace(0.5, 1.5, 9).reshape(3, 3)


def module(rng):
    """Layers from 6 features to one number, of random kinds."""
    layers, width = [], 6
    for _ in range(int(rng.integers(1, 5))):
        out = int(rng.integers(2, 7))
        layers.append(nn.Linear(width, out, bias=bool(rng.integers(2))))
        width = out
        layers.append([nn.Tanh, nn.Sigmoid, nn.Softplus, nn.SiLU, nn.GELU, nn.ELU, lambda: nn.LayerNorm(width), lambda: nn.Softmax(1), nn.Mish, nn.LogSigmoid][rng.integers(10)]())
    return nn.Sequential(*layers, nn.Linear(width, 1)).double()


@unittest.skipIf(torch is None, "not installed: torch (scripts/test-python.sh)")
class Modules(unittest.TestCase):
    def test_values_and_gradients(self):
        for seed in range(int(os.environ.get("LATHE_SEEDS", "60")) * 5 // 12):
            rng = np.random.default_rng(seed)
            torch.manual_seed(seed)
            net = module(rng)

            def f(a):
                return net(a).square().sum()
            with self.subTest(seed=seed, net=str(net)):
                x = torch.randn(4, 6, dtype=torch.double, requires_grad=True)
                g = lathe.function(f, capture="always")
                value = f(x)
                self.assertAlmostEqual(float(g(x.detach())), value.item(), delta=1e-11 * (1 + abs(value.item())))
                torch.testing.assert_close(torch.as_tensor(g.grad(x.detach())), torch.autograd.grad(value, x)[0], rtol=1e-8, atol=1e-10)


if __name__ == "__main__":
    harness.main()
