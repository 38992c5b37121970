"""Writes docs/aten.md: which modules of torch.nn and functions of torch.linalg become graphs, and every ATen op that occurs in them.

    python3 scripts/aten.py [--check]       # with the package lathe and PyTorch on the path

Each case is traced as lathe traces it and compared with PyTorch in values and derivatives at two points. --check compares what this
PyTorch gives with the page instead, and says what differs. SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import sys

import lathe
import lathe.console
import torch
import torch.nn as nn
from lathe import capture
from lathe.capture import torch as front

lathe.console.quiet = True
PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "aten.md")
d = torch.double
HEAD = """# PyTorch ops that become graphs

Written by scripts/aten.py with PyTorch {version}; tests/python/test_aten.py holds it to what the code does.

`lathe.solve`, `lathe.function` and the drop-in for PyGRANSO trace PyTorch code to ATen ops with `make_fx` and map them onto [the op table](ops.md). A module or function below
is "captured" when all its ops are, with values and derivatives equal to PyTorch's at two points. What is not captured is called as it is, and the result says why;
`torch.compile(backend="lathe")` compiles what lies around it.
"""


# ---- The cases -------------------------------------------------------------------------------------------------------------
def modules():
    """name -> (module, input): one of each of torch.nn's layers, in eval mode unless the name says otherwise."""
    torch.manual_seed(0)
    line, image, volume = torch.randn(2, 3, 9, dtype=d), torch.randn(2, 3, 8, 8, dtype=d), torch.randn(1, 2, 4, 4, 4, dtype=d)
    rows, steps, tokens = torch.randn(5, 4, dtype=d), torch.randn(2, 5, 4, dtype=d), torch.randn(2, 6, dtype=d)
    made = {
        "Linear": (nn.Linear(4, 3), rows), "Bilinear": (Two(nn.Bilinear(4, 4, 3)), rows), "Identity": (nn.Identity(), rows), "Flatten": (nn.Flatten(), image),
        "Unflatten": (nn.Unflatten(1, (2, 2)), rows), "Embedding": (Looked(nn.Embedding(7, 4)), rows), "EmbeddingBag": (Looked(nn.EmbeddingBag(7, 4)), rows),
        "Conv1d": (nn.Conv1d(3, 4, 3, padding=1), line), "Conv2d": (nn.Conv2d(3, 4, 3, stride=2, padding=1), image), "Conv2d, grouped": (nn.Conv2d(3, 6, 3, groups=3, dilation=2), image),
        "Conv2d, padding_mode reflect": (nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), image), "Conv2d, padding_mode circular": (nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), image),
        "Conv3d": (nn.Conv3d(2, 3, 3), volume), "ConvTranspose1d": (nn.ConvTranspose1d(3, 4, 3, stride=2), line),
        "ConvTranspose2d": (nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), image), "ConvTranspose3d": (nn.ConvTranspose3d(2, 2, 2, stride=2), volume),
        "Unfold": (nn.Unfold(3), image), "Fold": (nn.Fold((5, 5), 3), torch.randn(2, 18, 9, dtype=d)),
        "MaxPool1d": (nn.MaxPool1d(2), line), "MaxPool2d": (nn.MaxPool2d(3, 2, 1), image), "MaxPool2d, ceil_mode": (nn.MaxPool2d(3, 2, ceil_mode=True), image),
        "MaxPool2d, oblong": (nn.MaxPool2d((2, 4)), image), "MaxPool3d": (nn.MaxPool3d(2), volume),
        "AvgPool1d": (nn.AvgPool1d(2), line), "AvgPool2d": (nn.AvgPool2d(2), image), "AvgPool2d, oblong": (nn.AvgPool2d((2, 4), (1, 2)), image), "AvgPool3d": (nn.AvgPool3d(2), volume),
        "LPPool2d": (nn.LPPool2d(2, 2), image), "AdaptiveAvgPool1d": (nn.AdaptiveAvgPool1d(3), line), "AdaptiveAvgPool2d": (nn.AdaptiveAvgPool2d(3), image),
        "AdaptiveAvgPool3d": (nn.AdaptiveAvgPool3d(2), volume), "AdaptiveMaxPool1d": (nn.AdaptiveMaxPool1d(3), line), "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d(2), image),
        "FractionalMaxPool2d": (nn.FractionalMaxPool2d(2, output_size=3), image), "ReflectionPad2d": (nn.ReflectionPad2d(1), image), "ReplicationPad2d": (nn.ReplicationPad2d(1), image),
        "ZeroPad2d": (nn.ZeroPad2d(1), image), "ConstantPad2d": (nn.ConstantPad2d(1, 3.5), image), "CircularPad2d": (nn.CircularPad2d(1), image),
        "BatchNorm1d": (nn.BatchNorm1d(4), rows), "BatchNorm2d": (nn.BatchNorm2d(3), image), "BatchNorm3d": (nn.BatchNorm3d(2), volume), "BatchNorm2d, training": (nn.BatchNorm2d(3), image),
        "BatchNorm2d, training, without running statistics": (nn.BatchNorm2d(3, track_running_stats=False), image),
        "GroupNorm": (nn.GroupNorm(3, 6), torch.randn(2, 6, 4, dtype=d)), "LayerNorm": (nn.LayerNorm(4), rows), "InstanceNorm1d": (nn.InstanceNorm1d(3), line),
        "InstanceNorm2d": (nn.InstanceNorm2d(3), image), "LocalResponseNorm": (nn.LocalResponseNorm(2), image), "RMSNorm": (nn.RMSNorm(4), rows),
        "RNN": (First(nn.RNN(4, 3, batch_first=True)), steps), "LSTM": (First(nn.LSTM(4, 3, batch_first=True)), steps), "GRU": (First(nn.GRU(4, 3, batch_first=True)), steps),
        "LSTM, two layers, both directions": (First(nn.LSTM(4, 3, 2, bidirectional=True)), steps), "RNNCell": (nn.RNNCell(4, 3), rows), "LSTMCell": (First(nn.LSTMCell(4, 3)), rows),
        "GRUCell": (nn.GRUCell(4, 3), rows), "MultiheadAttention": (Attention(), steps), "TransformerEncoderLayer": (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), steps),
        "TransformerEncoderLayer, training, without dropout": (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), steps),
        "TransformerDecoderLayer": (Two(nn.TransformerDecoderLayer(4, 2, 8, batch_first=True)), steps), "Dropout": (nn.Dropout(), rows), "Dropout, training": (nn.Dropout(), rows),
        "AlphaDropout": (nn.AlphaDropout(), rows), "PixelShuffle": (nn.PixelShuffle(2), torch.randn(1, 4, 3, 3, dtype=d)), "PixelUnshuffle": (nn.PixelUnshuffle(2), image),
        "ChannelShuffle": (nn.ChannelShuffle(2), torch.randn(1, 4, 3, 3, dtype=d)), "Upsample, nearest": (nn.Upsample(scale_factor=2), image),
        "Upsample, bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), image), "Upsample, bicubic": (nn.Upsample(scale_factor=2, mode="bicubic"), image),
        "CosineSimilarity": (Two(nn.CosineSimilarity()), rows), "PairwiseDistance": (Two(nn.PairwiseDistance()), rows), "Linear, weight_norm": (nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), rows),
        "Linear, spectral_norm": (nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), rows), "Linear, orthogonal": (nn.utils.parametrizations.orthogonal(nn.Linear(4, 3)), rows),
    }
    for kind in (nn.ELU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardtanh, nn.Hardswish, nn.LeakyReLU, nn.LogSigmoid, nn.PReLU, nn.ReLU, nn.ReLU6, nn.RReLU, nn.SELU, nn.CELU, nn.GELU, nn.Sigmoid,
                 nn.SiLU, nn.Mish, nn.Softplus, nn.Softshrink, nn.Softsign, nn.Tanh, nn.Tanhshrink, nn.GLU):
        made[kind.__name__] = kind(), tokens
    made |= {"Threshold": (nn.Threshold(0.1, 0.5), tokens), "GELU, tanh": (nn.GELU("tanh"), tokens), "Softmin": (nn.Softmin(1), tokens), "Softmax": (nn.Softmax(1), tokens),
             "Softmax2d": (nn.Softmax2d(), image), "LogSoftmax": (nn.LogSoftmax(1), tokens)}
    for name, (module, _) in made.items():
        module.to(d).train("training" in name)
    return made


def losses():
    """name -> (module, prediction, target)"""
    rows, other, classes = torch.randn(5, 4, dtype=d), torch.randn(5, 4, dtype=d), torch.tensor([0, 3, 1, 1, 2])
    signs, shares = torch.tensor([1.0, -1, 1, 1, -1], dtype=d), torch.softmax(other, 1)
    return {
        "L1Loss": (nn.L1Loss(), rows, other), "MSELoss": (nn.MSELoss(), rows, other), "SmoothL1Loss": (nn.SmoothL1Loss(), rows, other), "HuberLoss": (nn.HuberLoss(), rows, other),
        "CrossEntropyLoss": (nn.CrossEntropyLoss(), rows, classes), "CrossEntropyLoss, smoothed": (nn.CrossEntropyLoss(label_smoothing=0.1), rows, classes),
        "CrossEntropyLoss, of shares": (nn.CrossEntropyLoss(), rows, shares), "NLLLoss": (nn.NLLLoss(), rows, classes), "NLLLoss, of images": (nn.NLLLoss(), torch.randn(2, 4, 3, 3, dtype=d), torch.ones(2, 3, 3, dtype=torch.long)),
        "BCELoss": (nn.BCELoss(), torch.sigmoid(rows), shares), "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss(), rows, shares), "KLDivLoss": (nn.KLDivLoss(reduction="batchmean"), rows, shares),
        "PoissonNLLLoss": (nn.PoissonNLLLoss(), rows, shares), "GaussianNLLLoss": (Gaussian(), rows, other), "HingeEmbeddingLoss": (nn.HingeEmbeddingLoss(), rows[:, 0], signs),
        "SoftMarginLoss": (nn.SoftMarginLoss(), rows[:, 0], signs), "MarginRankingLoss": (Ranking(), rows[:, 0], signs), "MultiMarginLoss": (nn.MultiMarginLoss(), rows, classes),
        "MultiLabelMarginLoss": (nn.MultiLabelMarginLoss(), rows, torch.tensor([[3, 0, -1, 1]] * 5)), "MultiLabelSoftMarginLoss": (nn.MultiLabelSoftMarginLoss(), rows, (other > 0).to(d)),
        "CosineEmbeddingLoss": (Embedded(), rows, signs), "TripletMarginLoss": (Triplet(), rows, other), "CTCLoss": (CTC(), torch.randn(6, 2, 5, dtype=d), torch.randint(1, 5, (2, 3))),
    }


def linear_algebra():
    """name -> function of a matrix A, 4 x 4."""
    L, fixed = torch.linalg, torch.randn(4, 4, dtype=d)
    spd = lambda A: A @ A.mT + torch.eye(4, dtype=d)  # noqa: E731
    return {
        "norm": lambda A: L.norm(A) + L.norm(A, 1) + L.norm(A, float("inf")) + L.norm(A, 2) + L.norm(A, "nuc"), "norm, -2 and -1": lambda A: L.norm(A, -2) + L.norm(A, -1),
        "vector_norm": lambda A: L.vector_norm(A, 3) + L.vector_norm(A, dim=1).sum() + L.vector_norm(A, float("inf")), "matrix_norm": lambda A: L.matrix_norm(A) + L.matrix_norm(A, 2),
        "diagonal": lambda A: L.diagonal(A).pow(2).sum(), "det": lambda A: L.det(A), "slogdet": lambda A: L.slogdet(A)[1], "cond": lambda A: L.cond(A),
        "matrix_rank": lambda A: L.matrix_rank(A) + A.sum(), "cholesky": lambda A: L.cholesky(spd(A)).sum(), "cholesky_ex": lambda A: L.cholesky_ex(spd(A))[0].sum(),
        "cholesky, upper": lambda A: L.cholesky(spd(A), upper=True).pow(3).sum(), "qr": lambda A: L.qr(A)[1].diagonal().abs().sum(), "lu": lambda A: L.lu(A)[2].diagonal().abs().sum(),
        "lu_factor": lambda A: L.lu_factor(A)[0].diagonal().abs().sum(), "lu_solve": lambda A: L.lu_solve(*L.lu_factor(A), fixed).sum(),
        "eig, values": lambda A: L.eig(A)[0].real.max(), "eig, vectors": lambda A: L.eig(A)[1].abs().sum(), "eigvals": lambda A: L.eigvals(A).abs().max() + L.eigvals(A).imag.max(),
        "eigh, values": lambda A: L.eigh(spd(A))[0].max(), "eigh, vectors": lambda A: L.eigh(spd(A))[1][:, -1].pow(4).sum(), "eigvalsh": lambda A: L.eigvalsh(spd(A))[0],
        "svd, values": lambda A: L.svd(A)[1][0], "svd, vectors": lambda A: L.svd(A)[0][:, 0].pow(4).sum(), "svdvals": lambda A: L.svdvals(A).sum() + L.svdvals(A)[2],
        "solve": lambda A: L.solve(A, fixed).sum(), "solve, from the right": lambda A: L.solve(A, fixed, left=False).sum(), "solve_ex": lambda A: L.solve_ex(A, fixed)[0].sum(),
        "solve_triangular": lambda A: L.solve_triangular(torch.triu(A) + 3 * torch.eye(4, dtype=d), fixed, upper=True).sum(), "lstsq": lambda A: L.lstsq(A, fixed)[0].sum(),
        "inv": lambda A: L.inv(A).sum(), "inv_ex": lambda A: L.inv_ex(A)[0].sum(), "pinv": lambda A: L.pinv(A).sum(), "pinv, hermitian": lambda A: L.pinv(spd(A), hermitian=True).sum(),
        "matrix_exp": lambda A: L.matrix_exp(A / 4).sum(), "matrix_power": lambda A: L.matrix_power(A, 3).sum() + L.matrix_power(A, -1).sum(), "cross": lambda A: L.cross(A[:, :3], fixed[:, :3]).pow(2).sum(),
        "matmul": lambda A: L.matmul(A, fixed).sum(), "vecdot": lambda A: L.vecdot(A, fixed).pow(2).sum(), "multi_dot": lambda A: L.multi_dot([A, fixed, A]).sum(),
        "householder_product": lambda A: L.householder_product(A[:, :2], A[0, :2] / 9).sum(), "ldl_factor": lambda A: L.ldl_factor(spd(A))[0].diagonal().sum(),
        "tensorinv": lambda A: L.tensorinv(A.reshape(2, 2, 2, 2), 2).sum(), "tensorsolve": lambda A: L.tensorsolve(A.reshape(2, 2, 2, 2), fixed[:2, :2]).sum(), "vander": lambda A: L.vander(A[0]).sum(),
    }


def of_modules():
    """What is found first in code around modules: name -> function of a matrix."""
    fixed, at = torch.randn(4, 4, dtype=d), torch.tensor([2, 0, 1, 1])
    return {
        "sort, median, kthvalue": lambda A: torch.sort(A, 1)[0][:, 0].sum() + A.sort(dim=0, descending=True)[0][0].sum() + A.median() + A.median(1)[0].sum() + torch.kthvalue(A, 2, 0)[0].sum(),
        "argsort, by positions": lambda A: A.sort(1)[1].pow(2)[:, 0].sum() * A.sum() + A[A[:, 0].argsort()][0].sum() + A[A[0].argmax()].sum() + (A.topk(2, 1)[1] == 2).sum() * A[0, 0], "quantile": lambda A: torch.quantile(A, 0.3), "topk": lambda A: A.topk(2, 0)[0].sum(), "cumprod": lambda A: A.cumprod(1).sum(),
        "cummax": lambda A: A.cummax(0)[0].sum(), "logcumsumexp": lambda A: A.logcumsumexp(0).sum(), "scatter": lambda A: torch.zeros(4, 4, dtype=d).scatter(1, at[:, None], A[:, :1]).pow(2).sum(),
        "index_add": lambda A: torch.zeros(4, 4, dtype=d).index_add(0, at, A).pow(2).sum(), "index_put": lambda A: torch.zeros(4, dtype=d).index_put((at[:3],), A[0, :3]).pow(2).sum(),
        "index_copy": lambda A: torch.zeros(4, 4, dtype=d).index_copy(0, torch.tensor([3, 1]), A[:2]).pow(2).sum(), "masked_select": lambda A: A.masked_select(fixed > 0).pow(2).sum(),
        "masked_select, computed mask": lambda A: A[A > 0].sum(), "where": lambda A: torch.where(A > 0, A, fixed).sum(), "clamp": lambda A: A.clamp(-fixed.abs(), fixed.abs()).sum(),
        "cdist": lambda A: torch.cdist(A, fixed).sum(), "kron": lambda A: torch.kron(A, fixed).pow(2).sum(), "tensordot": lambda A: torch.tensordot(A, fixed, 2), "trapezoid": lambda A: torch.trapezoid(A).sum(),
        "meshgrid": lambda A: torch.meshgrid(A[0], A[1], indexing="ij")[0].pow(2).sum(), "tril, triu": lambda A: (A.tril() @ A.triu(1)).sum(), "block_diag": lambda A: torch.block_diag(A, fixed).pow(2).sum(),
        "std_mean, var": lambda A: torch.std_mean(A, 1)[0].sum() + A.var(), "nan_to_num": lambda A: torch.nan_to_num(A).sum(), "frac, fmod, round": lambda A: A.frac().sum() + torch.fmod(A, 0.3).sum() + A.round().sum(),
        "erf, erfc, erfinv": lambda A: A.erf().sum() + A.erfc().sum() + torch.erfinv(A / 9).sum(), "lgamma, digamma": lambda A: torch.lgamma(A.abs() + 1).sum() + torch.digamma(A.abs() + 1).sum(),
        "sinc, logit, xlogy": lambda A: torch.sinc(A).sum() + torch.logit(torch.sigmoid(A)).sum() + torch.xlogy(A.abs(), A.abs() + 1).sum(), "i0": lambda A: torch.i0(A).sum(),
        "logaddexp, hypot, atan2": lambda A: torch.logaddexp(A, fixed).sum() + torch.hypot(A, fixed).sum() + torch.atan2(A, fixed).sum(), "copysign": lambda A: torch.copysign(A, fixed).sum(),
        "fft": lambda A: torch.fft.rfft(A).abs().sum(), "complex numbers": lambda A: torch.complex(A, fixed).abs().sum(), "view_as_complex": lambda A: torch.view_as_complex(A.reshape(8, 2)).abs().sum(),
        "rot90, flip, roll": lambda A: (torch.rot90(A) * fixed).sum() + (A.flip(0) * fixed).sum() + (A.roll(1) * fixed).sum(), "unfold": lambda A: A.unfold(0, 2, 1).pow(2).sum(),
        "repeat_interleave": lambda A: A.repeat_interleave(2, 0).pow(2).sum(), "one_hot": lambda A: (nn.functional.one_hot(at, 4) * A).sum(), "baddbmm": lambda A: torch.baddbmm(fixed[None], A[None], A[None]).sum(),
        "scaled_dot_product_attention": lambda A: nn.functional.scaled_dot_product_attention(A[None], fixed[None], fixed[None]).sum(), "grid_sample": lambda A: nn.functional.grid_sample(A[None, None], torch.tanh(fixed).reshape(1, 2, 4, 2)).sum(),
        "rand": lambda A: (A * torch.rand(4, 4)).sum(), "item": lambda A: A.sum() * A[0, 0].item(), "normalize": lambda A: nn.functional.normalize(A).sum(), "renorm": lambda A: A.renorm(2, 0, 1.0).sum(),
    }


class Two(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x, x.flip(0))


class First(Two):
    def forward(self, x):
        return self.inner(x)[0]


class Looked(Two):
    def forward(self, x):
        return self.inner(torch.tensor([[0, 3, 3, 6]])) * x[:1].mean()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x)[0]


class Gaussian(nn.GaussianNLLLoss):
    def forward(self, x, y):
        return super().forward(x, y, y.abs() + 1)


class Ranking(nn.MarginRankingLoss):
    def forward(self, x, y):
        return super().forward(x, x.flip(0) * 2, y)


class Embedded(nn.CosineEmbeddingLoss):
    def forward(self, x, y):
        return super().forward(x, x.flip(1) * 2, y)


class Triplet(nn.TripletMarginLoss):
    def forward(self, x, y):
        return super().forward(x, y, y.flip(0))


class CTC(nn.CTCLoss):
    def forward(self, x, y):
        return super().forward(x.log_softmax(2), y, torch.tensor([6, 6]), torch.tensor([3, 2]))


# ---- What becomes of them -------------------------------------------------------------------------------------------------------
def function_of(case):
    """(function, its example arguments): a module's parameters are arguments, too."""
    if callable(case):
        torch.manual_seed(1)
        return case, [torch.randn(4, 4, dtype=d)]
    module, x, *target = case
    named = [(n, p.detach().clone()) for n, p in module.named_parameters()]
    weights = torch.linspace(0.5, 1.5, 1000, dtype=d)

    def call(x, *parameters):
        made = torch.func.functional_call(module, {n: p for (n, _), p in zip(named, parameters)}, (x, *target))
        return (made * weights.repeat(made.numel() // 1000 + 1)[:made.numel()].reshape(made.shape)).sum()
    return call, [x, *(p for _, p in named)]


def ops_of(function, arguments):
    """Names of the ATen ops that tracing meets on the way to the result, or none where it fails."""
    try:
        module = front.traced_module(function, [a.clone() for a in arguments])
    except Exception:  # refused above, with the reason
        return set()
    variable, names = set(), set()  # what depends on no argument is computed once, by PyTorch
    for node in front.live_nodes(module):
        if node.op == "placeholder" or any(n in variable for n in node.all_input_nodes):
            variable.add(node)
            if node.op == "call_function" and hasattr(node.target, "_schema"):
                names.add(front.op_name(node.target))
    return names


def judged(case):
    """(ops, "" or why it is not captured)"""
    function, arguments = function_of(case)
    torch.manual_seed(2)
    try:
        capture.capture(function, [a.numpy() for a in arguments], arguments, effects=True)
        why = ""
    except lathe.CaptureError as error:
        why = re.sub(r" \([\w./<>]+:\d+\)", "", str(error)).removeprefix("not as PyTorch code: ").split("\n")[0].split(". ")[0][:140]
    return ops_of(function, arguments), why


def found():
    """section -> name -> (ops, why not)"""
    sections = {"Modules of torch.nn": modules(), "Losses of torch.nn": losses(), "Functions of torch.linalg": linear_algebra(), "Other functions": of_modules()}
    return {title: {name: judged(case) for name, case in cases.items()} for title, cases in sections.items()}


def page(sections) -> str:
    from lathe.capture.aten import TABLE
    parts = [HEAD.format(version=re.match(r"[\d.]+", torch.__version__)[0])]
    for title, cases in sections.items():
        n = sum(not why for _, why in cases.values())
        parts.append(f"## {title}\n\n{n} of {len(cases)} are captured.\n\n| | captured | why not |\n| --- | --- | --- |")
        parts[-1] += "".join(f"\n| {name} | {'no' if why else 'yes'} | {cell(why)} |" for name, (_, why) in cases.items())
    users = {}
    for cases in sections.values():
        for name, (ops, _) in cases.items():
            for op in ops:
                users.setdefault(op, []).append(name)
    parts.append(f"## ATen ops\n\nEvery op of variables that occurs above once PyTorch's decompositions have taken apart what has no row: {sum(op in TABLE for op in users)} of {len(users)} have one.\n\n"
                 "| op | captured | occurs in |\n| --- | --- | --- |" +
                 "".join(f"\n| `{op}` | {'yes' if op in TABLE else 'no'} | {', '.join(names[:3])}{' and others' if len(names) > 3 else ''} |" for op, names in sorted(users.items())))
    return "\n\n".join(parts) + "\n"


def cell(why) -> str:
    return why.replace("|", "\\|")


def verdicts(text) -> dict:
    """(section, name) -> yes or no of a page."""
    made, title = {}, ""
    for line in text.splitlines():
        title = line[3:] if line.startswith("## ") else title
        if (row := re.match(r"\| (.+?) \| (yes|no) \|", line)):
            made[title, row[1]] = row[2]
    return made


def main():
    text = page(found())
    if "--check" not in sys.argv[1:]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        old, new = verdicts(file.read()), verdicts(text)
    differ = [f"{title}: {name} is {new[title, name]} here, {old.get((title, name), 'absent')} in docs/aten.md" for title, name in new if old.get((title, name)) != new[title, name]]
    print("\n".join(differ + [f"{len(new)} rows, {len(differ)} differ"]))
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
