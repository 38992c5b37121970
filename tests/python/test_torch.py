"""PyTorch code becomes graphs: the table of ATen ops, what is refused, functions that are called. SPDX-License-Identifier: BSD-3-Clause"""
import unittest

import harness
import lathe
import numpy as np

try:
    import torch
    import torch.nn.functional as F
    from torch import linalg
    d = torch.double
    torch.manual_seed(0)
    X, Y, IMAGE = torch.randn(3, 4, dtype=d), torch.randn(3, 4, dtype=d), torch.randn(2, 3, 8, 8, dtype=d)
    LABELS = torch.tensor([0, 1, 2])
except ImportError:
    torch = None


def captured(function, *arguments):
    """The Captured: its values and derivatives were compared with PyTorch's at two points."""
    return lathe.capture.capture(function, [a.numpy() for a in arguments], list(arguments))


def set_items(a):
    z = torch.zeros(3, dtype=d)
    z[0] = a[0, 0]
    z[1:] = a[1:, 1]
    return (z * z).sum()


def ops():
    """name -> function of X."""
    return {
        "arithmetic": lambda a: (8 * abs(a**2 - Y) + (1 - a) ** 2 / 3 + torch.pow(2.0, a) + a.abs().pow(1.5) - torch.rsqrt(a.abs() + 1)).sum(),
        "constants": lambda a: (torch.linspace(0, 1, 4, dtype=d) * a + torch.arange(4) + torch.zeros_like(a) + torch.ones(3, 4)).sum(),
        "products": lambda a: (a @ Y.T).sum() + torch.dot(a[0], Y[1]) + torch.mv(Y, a[0]).sum() + torch.bmm(a[None], Y.T[None]).sum() + torch.outer(a[0], a[1]).sum(),
        "einsum": lambda a: torch.einsum("ij,kj->ik", a, Y).pow(2).sum(),
        "norms": lambda a: torch.norm(a, p=1) + torch.norm(a) + linalg.norm(a, 2) + torch.norm(a, dim=1).sum() + linalg.norm(a.reshape(-1), float("inf")) + torch.dist(a, Y),
        "nuclear norm": lambda a: torch.norm(a, p="nuc"),
        "singular values": lambda a: linalg.svdvals(a)[1] + linalg.svd(a)[1][0],
        "eigenvalues": lambda a: linalg.eigvals(a @ Y.T).imag.max() + linalg.eigvals(a @ Y.T).abs().max() + torch.max(linalg.eig(a @ Y.T)[0].real),
        "symmetric eigenvalues": lambda a: linalg.eigvalsh(a @ a.T).max() + linalg.eigh(a @ a.T)[0][0],
        "determinants": lambda a: linalg.det(a @ a.T) + torch.logdet(a @ a.T) + linalg.inv(a @ a.T).sum() + linalg.slogdet(a @ a.T)[1],
        "factorisations": lambda a: linalg.cholesky(a @ a.T + torch.eye(3, dtype=d)).sum() + linalg.solve(a @ a.T + torch.eye(3, dtype=d), Y).sum(),
        "traces": lambda a: torch.trace(a @ a.T) + torch.diagonal(a).sum() + torch.diag(a[0]).pow(2).sum() + torch.tril(a).sum(),
        "detached": lambda a: (a.detach() * a).sum(),
        "slices": lambda a: a[1:, ::2].sum() + a[0, 1] + a[..., -1].sum() + a[:, None].sum() + a[:, [0, 2]].sum() + a[torch.arange(3), LABELS].sum(),
        "masks": lambda a: a[Y > 0].sum() + a.masked_fill(Y > 0, 0.0).sum() + torch.sum(a > 0) + torch.where(a > 0, a, 0.0).sum() + (a > Y).double().sum(),
        "gather, topk": lambda a: a.gather(1, LABELS[:, None]).sum() * 2 + torch.topk(a, 2, dim=1)[0].sum() + torch.topk(a, 1, dim=0, largest=False)[0].sum(),
        "extremes": lambda a: a.max(dim=1)[0].sum() + a.amax(1).sum() + a.min() + torch.max(a, Y).sum() + a.max() + a.clamp(max=1.0).sum() + a.clamp(-1, 1).sum(),
        "joined": lambda a: torch.cat([a, Y]).sum() + torch.stack([a, Y], -1).pow(2).sum() + torch.cat(torch.chunk(a, 2, 1), 0).pow(2).sum() + F.pad(a, (1, 2)).sum(),
        "moved": lambda a: (a.roll(1, 0) * a).sum() + (torch.flip(a, [0]) * a).sum() + a.repeat(2, 1).pow(2).sum() + a.T.contiguous().view(-1)[3] + a.expand(2, 3, 4).sum(),
        "sums": lambda a: torch.cumsum(a, 0).sum() + torch.prod(a) + torch.diff(a, dim=1).abs().sum() + torch.var(a) + torch.std(a, 0).sum() + torch.logsumexp(a, 1).sum(),
        "in place": lambda a: a.clone().mul_(2).add_(1).pow(2).sum(),
        "items set": set_items,
        "activations": lambda a: sum(f(a).sum() for f in (F.gelu, F.silu, F.elu, F.leaky_relu, F.softplus, torch.sigmoid, F.logsigmoid, F.mish, F.hardswish,
                                                          F.relu6, F.selu, F.celu, F.softsign, F.hardtanh, F.relu, torch.tanh)),
        "losses": lambda a: F.mse_loss(a, Y) + F.l1_loss(a, Y) + F.huber_loss(a, Y) + F.smooth_l1_loss(a, Y) + F.cosine_similarity(a, Y).sum() +
        F.binary_cross_entropy_with_logits(a, torch.sigmoid(Y)) + F.kl_div(F.log_softmax(a, 1), F.softmax(Y, 1)),
        "cross-entropy": lambda a: F.cross_entropy(a, LABELS) + F.nll_loss(F.log_softmax(a, 1), torch.tensor([0, -100, 1]), weight=torch.arange(1.0, 5, dtype=d)),
        "normalised": lambda a: F.layer_norm(a, (4,)).pow(3).sum() + F.softmax(a, 1).pow(2).sum(),
    }


@unittest.skipIf(torch is None, "not installed: torch (scripts/test-python.sh)")
class Ops(unittest.TestCase):
    def test_each_group_is_captured(self):
        for name, function in ops().items():
            with self.subTest(name):
                self.assertIn("captured from PyTorch code", captured(function, X).how)

    def test_networks(self):
        conv, norm = torch.nn.Conv2d(3, 4, 3, padding=1, stride=2).double(), torch.nn.BatchNorm2d(4).double().eval()
        for name, function in {
            "lenet": lambda a: F.max_pool2d(torch.relu(conv(a)), 2).pow(2).sum(),
            "resnet": lambda a: F.adaptive_avg_pool2d(torch.relu(F.max_pool2d(norm(conv(a)), 3, 2, 1)), 1).flatten(1).pow(2).sum(),
            "pools": lambda a: F.avg_pool2d(a, 2).pow(2).sum() + F.adaptive_avg_pool2d(a, (3, 3)).pow(2).sum() + F.adaptive_avg_pool2d(a, 4).pow(2).sum(),
            "group norm, one dimension": lambda a: F.group_norm(a, 3).pow(3).sum() + F.conv1d(a[0], torch.ones(2, 8, 3, dtype=d)).pow(2).sum(),
        }.items():
            with self.subTest(name):
                captured(function, IMAGE)

    def test_recurrent_layers(self):
        for kind in (torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU):
            for dtype in (torch.double, torch.float):
                with self.subTest(kind.__name__, dtype=dtype):
                    layer = kind(4, 3, batch_first=True).to(dtype)
                    captured(lambda a: layer(a.reshape(1, 3, 4))[0][:, -1].sum(), X.to(dtype))

    def test_nuclear_norm_where_the_rank_drops(self):
        """Only singular values that are not zero have vectors: the derivative at a matrix of rank one is u v'."""
        made = captured(lambda a: torch.norm(a, p="nuc"), 0.2 * torch.ones(3, 4, dtype=d))
        gradient = made.program(list(made.graph.grad(made.outputs[0], made.inputs)))(np.full((3, 4), 0.2))[0]
        np.testing.assert_allclose(gradient, np.full((3, 4), 12**-0.5), atol=1e-12)


@unittest.skipIf(torch is None, "not installed: torch (scripts/test-python.sh)")
class Refused(unittest.TestCase):
    def refused(self, function, words):
        with self.assertRaisesRegex(lathe.CaptureError, words):
            captured(function, X)

    def test_random_draws_by_name(self):
        self.refused(lambda a: (a + torch.randn(3, 4)).sum(), "draws random numbers .randn")
        self.refused(lambda a: F.dropout(a, 0.5, True).sum(), "dropout draws random numbers")
        before = torch.random.get_rng_state()
        self.refused(lambda a: (a * torch.rand(1)).sum(), "draws random numbers .rand")
        self.assertTrue(torch.equal(before, torch.random.get_rng_state()))

    def test_values_taken_out(self):
        self.refused(lambda a: a.sum() if a[0, 0] > 0 else a.mean(), "takes a value out")
        self.refused(lambda a: a.sum() * a.sum().item(), "takes a value out")

    def test_derivatives_cut_without_a_trace(self):
        self.refused(lambda a: (a * a.data).sum(), "derivatives")

        def no_grad(a):
            with torch.no_grad():
                b = a * a
            return (a * b).sum()
        self.refused(no_grad, "derivatives")

    def test_vectors_and_statistics(self):
        self.refused(lambda a: linalg.svd(a)[0].sum(), "singular vectors")
        norm = torch.nn.BatchNorm1d(4).double()
        self.refused(lambda a: norm(a).pow(3).sum(), "running statistics|in place")

    def test_changes_outside(self):
        outside = torch.zeros(3, 4, dtype=d)

        def function(a):
            outside.add_(1)
            return (a * outside).sum()
        self.refused(function, "changes 'outside' in place")


@unittest.skipIf(torch is None, "not installed: torch (scripts/test-python.sh)")
class Solved(unittest.TestCase):
    def test_captured_and_called_agree(self):
        def function(x):
            return 8 * abs(x[0] ** 2 - x[1]) + (1 - x[0]) ** 2, [2**0.5 * x[0] - 1, 2 * x[1] - 1]
        x0 = torch.full((2,), 5.5, dtype=d)
        graph, called = (lathe.solve(function, x0=x0, mu0=100, maxit=10, capture=c, **harness.AS_PUBLISHED) for c in ("always", "never"))
        self.assertIn("captured from PyTorch code", graph.how)
        self.assertIn("PyTorch's reverse mode", called.how)
        np.testing.assert_allclose(graph.history[:, 4], called.history[:, 4], rtol=1e-9)
        self.assertAlmostEqual(called.final.f, 9.27057783616, places=9)

    def test_falls_back_and_says_why(self):
        def branches(x):
            return (x * x).sum() if x[0] > -5 else -x[0] * 5
        s = lathe.solve(branches, x0=torch.ones(2, dtype=d))
        self.assertRegex(s.how, "called from C, gradients by PyTorch's reverse mode: not as PyTorch code: the function takes a value out .*test_torch.py")
        self.assertLess(s.f, 1e-8)

    def test_compiled_function(self):
        g = lathe.function(lambda x, y: torch.tanh(x) @ y)
        np.testing.assert_allclose(g(X, Y.T.contiguous()), (torch.tanh(X) @ Y.T).numpy(), rtol=1e-12)


if __name__ == "__main__":
    harness.main()
