"""torch.compile(f, backend="lathe"): modules, training loops, what falls back and how it is reported. SPDX-License-Identifier: BSD-3-Clause"""
import copy
import os
import threading
import unittest

import harness

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
    import lathe.torch
    LABELS = torch.tensor([0, 1, 2, 1])
except ImportError:
    torch = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Last(torch.nn.Module if torch else object):
    """A recurrent cell, unrolled, and its last state."""

    def __init__(self, cell):
        super().__init__()
        self.cell, self.out = cell, nn.Linear(cell.hidden_size, 3)

    def forward(self, x):
        state = None
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
        return self.out(state[0] if isinstance(state, tuple) else state)


def modules():
    """name -> (module, input); each gives four rows of three numbers."""
    image = torch.randn(4, 2, 8, 8)
    rows = torch.randn(4, 6)
    return {
        "mlp": (nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), rows),
        "activations": (nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.SiLU(), nn.ELU(), nn.LeakyReLU(), nn.Softplus(), nn.Tanh(), nn.Linear(8, 3)), rows),
        "norms": (nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.BatchNorm1d(8), nn.Sigmoid(), nn.Linear(8, 3)), rows),
        "lenet": (nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, stride=2, bias=False), nn.Tanh(), nn.Flatten(), nn.Linear(4, 3)), image),
        "resnet": (nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)), image),
        "groups": (nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.Hardswish(), nn.Flatten(), nn.Linear(144, 3)), image),
        "rnn": (Last(nn.RNNCell(3, 5)), rows.reshape(4, 2, 3)),
        "lstm": (Last(nn.LSTMCell(3, 5)), rows.reshape(4, 2, 3)),
        "gru": (Last(nn.GRUCell(3, 5)), rows.reshape(4, 2, 3)),
        "attention": (nn.Sequential(nn.Embedding(9, 8), nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), nn.Flatten(), nn.Linear(40, 3)),
                      torch.randint(0, 9, (4, 5))),
    }


def trained(model, forward, x, steps=3):
    """Losses of a few steps. Not of Adam: it makes steps of size one of derivatives that are rounding alone (a bias before a norm)."""
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), LABELS)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@unittest.skipIf(torch is None, "not installed: torch (scripts/test-python.sh)")
class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        lathe.torch.reset()
        torch.manual_seed(5)

    def compile(self, f, **more):
        return torch.compile(f, backend=lathe.torch.backend, **more)

    def assert_close(self, got, expected, rtol=1e-4):
        torch.testing.assert_close(got, expected, rtol=rtol, atol=rtol * (1e-9 + float(expected.detach().abs().max())))


class Modules(Compiled):
    def test_training_is_that_of_pytorch(self):
        """Losses, parameters and running statistics after three steps; nothing but named ops stays with PyTorch."""
        stays = {"lenet": {"max_pool2d_with_indices"}}
        for name, (module, x) in modules().items():
            with self.subTest(name):
                torch._dynamo.reset()
                lathe.torch.reset()
                own = copy.deepcopy(module)
                expected, got = trained(module, module, x), trained(own, self.compile(own), x)
                self.assert_close(torch.tensor(got), torch.tensor(expected), 1e-3)
                for (key, a), b in zip(own.state_dict().items(), module.state_dict().values()):
                    torch.testing.assert_close(a.double(), b.double(), rtol=1e-3, atol=1e-4, msg=lambda text: f"{key}: {text}")
                report = lathe.torch.report()
                self.assertEqual(set(report.eager), stays.get(name, set()), report)
                self.assertEqual((report.differences, report.graph_breaks, report.whole_graphs), ([], {}, {}))
                self.assertGreaterEqual(min(report.graphs["forward"], report.graphs["backward"]), 1)
                self.assertGreater(report.ops, 5)

    def test_inference(self):
        for name, (module, x) in modules().items():
            with self.subTest(name), torch.no_grad():
                torch._dynamo.reset()
                self.assert_close(self.compile(module.eval())(x), module(x))
        self.assertGreaterEqual(lathe.torch.report().graphs["inference"], len(modules()))

    def test_gradients_in_double_precision(self):
        def f(a, b):
            return torch.tanh(a @ b).abs().sum() + torch.logsumexp(a, 1).sum() + torch.where(a > 0, a, b.T).std()
        a, b = (torch.randn(3, 4, dtype=torch.double, requires_grad=True), torch.randn(4, 3, dtype=torch.double, requires_grad=True))
        value = self.compile(f)(a, b)
        self.assert_close(value, f(a, b), 1e-12)
        for got, expected in zip(torch.autograd.grad(value, [a, b]), torch.autograd.grad(f(a, b), [a, b])):
            self.assert_close(got, expected, 1e-10)
        self.assertEqual(lathe.torch.report().eager, {})


class FallsBack(Compiled):
    def test_ops_without_a_kernel_are_named_and_counted(self):
        def f(x):
            return (torch.special.bessel_j0(x * 2) * 3 + torch.special.bessel_j0(x)).sum()
        x = torch.randn(5, dtype=torch.double)
        self.assert_close(self.compile(f)(x), f(x), 1e-12)
        report = lathe.torch.report()
        self.assertEqual(report.eager, {"special_bessel_j0": 2})
        self.assertIn("has no op", report.reasons["special_bessel_j0"])
        self.assertIn("by PyTorch: aten.special_bessel_j0, 2 times", str(report))
        self.assertEqual(report.programs, 2)

    def test_graph_breaks_are_counted(self):
        def f(x):
            y = x * 2
            return y.sum() + 1 if y.sum().item() > 0 else (y * y).sum()
        for x in (torch.ones(3), -torch.ones(3)):
            self.assert_close(self.compile(f)(x), f(x))
        report = lathe.torch.report()
        self.assertGreaterEqual(sum(report.graph_breaks.values()), 1)
        self.assertIn("graph break", str(report))

    def test_random_draws_are_those_of_pytorch(self):
        def f(x):
            return F.dropout(x * 2, 0.5) + torch.rand_like(x) + F.dropout(x, 0.3)
        x, seen = torch.ones(50), []
        for g in (self.compile(f, options={"verify": True}), f):
            torch.manual_seed(11)
            seen.append(g(x))
        self.assertEqual(set(lathe.torch.report().eager) - {"native_dropout", "rand_like", "bernoulli", "rand"}, set())
        self.assert_close(*seen)

    def test_other_types_stay_with_pytorch(self):
        x = torch.randn(4, 4, dtype=torch.bfloat16)
        self.assertTrue(torch.equal(self.compile(lambda a: (a @ a).relu())(x), (x @ x).relu()))
        z = torch.randn(3, dtype=torch.cfloat)
        self.assert_close(self.compile(lambda a: (a * a).abs())(z), (z * z).abs())
        self.assertTrue(any("elements of type" in why for why in lathe.torch.report().reasons.values()))

    def test_a_difference_gives_way(self):
        from lathe.capture.aten import TABLE
        TABLE["special_i1"] = lambda x: x * 0  # a wrong row
        try:
            x = torch.randn(5, dtype=torch.double)
            g = self.compile(lambda a: torch.special.i1(a) + 1)
            for _ in range(2):
                self.assert_close(g(x), torch.special.i1(x) + 1, 1e-14)
            self.assertIn("by PyTorch", lathe.torch.report().differences[0])
            unchecked = self.compile(lambda a: torch.special.i1(a) + 1, options={"verify": False})
            self.assertTrue(torch.equal(unchecked(x), torch.ones(5, dtype=torch.double)))
        finally:
            del TABLE["special_i1"]


class Behaviour(Compiled):
    def test_inputs_changed_in_place_and_views(self):
        def f(x, y):
            x.mul_(2)
            y[0] = 7
            return x.T, x + y, y
        x, y = torch.randn(3, 3), torch.randn(3, 3)
        a, b = x.clone(), y.clone()
        for got, expected in zip((*self.compile(f)(x, y), x, y), (*f(a, b), a, b)):
            self.assert_close(got, expected)
            self.assertEqual(got.stride(), expected.stride())

    def test_results_are_the_callers_own(self):
        g = self.compile(lambda x: (x + 1, torch.arange(3.0)))
        x = torch.zeros(2)
        g(x)[1].add_(5)
        self.assertEqual(g(x)[1].tolist(), [0, 1, 2])
        g(x)[0].add_(5)
        self.assertEqual(g(x)[0].tolist(), [1, 1])

    def test_strides(self):
        x = torch.randn(4, 6)
        for view in (x.T, x[:, ::2], x[1:3]):
            self.assert_close(self.compile(lambda a: torch.exp(a) @ a.T)(view), torch.exp(view) @ view.T)

    def test_sizes_that_vary(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
        g = self.compile(model, dynamic=True)
        for n in (3, 5, 9, 5):
            x = torch.randn(n, 4)
            self.assert_close(g(x), model(x))
            g(x).sum().backward()
        self.assertEqual(lathe.torch.report().whole_graphs, {})
        self.assertGreaterEqual(lathe.torch.report().programs, 6)

    def test_several_threads(self):
        g, x = self.compile(lambda a: torch.tanh(a).sum(0)), torch.randn(50, 50)
        expected, wrong = g(x), []

        def work():
            for _ in range(20):
                if not torch.equal(g(x), expected):
                    wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_options(self):
        x = torch.randn(3)
        for more in ({"mode": "max-autotune"}, {"options": {"mode": "eager"}}, {"fullgraph": True}):
            self.assert_close(self.compile(lambda a: torch.tanh(a) * 2, **more)(x), torch.tanh(x) * 2)
        with self.assertRaisesRegex(Exception, "no option 'verfy': expected mode or verify"):
            self.compile(lambda a: a * 2, options={"verfy": True})(x)

    def test_entry_point(self):
        """As pip registers it: a distribution with the table of pyproject.toml."""
        import tomllib
        with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
            points = tomllib.load(file)["project"]["entry-points"]["torch_dynamo_backends"]
        os.makedirs("site/lathe-0.dist-info", exist_ok=True)
        with open("site/lathe-0.dist-info/METADATA", "w") as file:
            file.write("Metadata-Version: 2.1\nName: lathe\nVersion: 0\n")
        with open("site/lathe-0.dist-info/entry_points.txt", "w") as file:
            file.write("[torch_dynamo_backends]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))
        code = ("import sys; sys.path.append('site')\nimport torch\nassert 'lathe' in torch.compiler.list_backends(), torch.compiler.list_backends()\n"
                "f = torch.compile(lambda x: torch.tanh(x).sum(), backend='lathe')\nx = torch.ones(4, requires_grad=True)\nf(x).backward()\n"
                "import lathe\nr = lathe.torch.report()\nprint(r.graphs, r.programs)")
        self.assertEqual(harness.run_code(code), "{'forward': 1, 'backward': 1, 'inference': 0} 2")


if __name__ == "__main__":
    harness.main()
