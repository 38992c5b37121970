"""One application of exported operators against modules of PyTorch that load the same weights.

    torch_step.py EXPORT_PROGRAM        exit 77 (skipped) where NumPy or PyTorch is missing

SPDX-License-Identifier: BSD-3-Clause
"""
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

LIMIT = 1e-5
NORMS = {
    "instance": lambda c: nn.InstanceNorm2d(c, affine=True),
    "batch": nn.BatchNorm2d,
    "group": lambda c: nn.GroupNorm(max(g for g in range(1, 33) if c % g == 0), c),
    "layer": lambda c: nn.GroupNorm(1, c),
}


class ConvBlock(nn.Conv2d):
    """Named as in the weights file: weight, bias, norm.weight, norm.bias."""

    def __init__(self, i, o, k, norm, stride=1):
        super().__init__(i, o, k, stride=stride, padding=k // 2, bias=norm == "none")
        self.norm = NORMS[norm](o) if norm != "none" else nn.Identity()

    def forward(self, x):
        return nn.functional.gelu(self.norm(super().forward(x)))


class ResidualBlock(nn.Module):
    def __init__(self, i, o, k, norm):
        super().__init__()
        self.conv1, self.conv2 = ConvBlock(i, o, k, norm), ConvBlock(o, o, k, norm)
        if i != o:
            self.proj = nn.Conv2d(i, o, 1, bias=False)

    def forward(self, x):
        return self.conv2(self.conv1(x)) + (self.proj(x) if hasattr(self, "proj") else x)


class Cnn(nn.Module):
    def __init__(self, b, k, layers, norm):
        super().__init__()
        widths = [b] + [b * 2 ** min(i, 2) for i in range(layers)]
        block = ResidualBlock if layers > 3 else ConvBlock
        self.stem = ConvBlock(3, b, k, norm)
        self.blocks = nn.Sequential(*(block(i, o, k, norm) for i, o in zip(widths, widths[1:])))
        self.output = nn.Conv2d(widths[-1], 3, 1)

    def forward(self, x):
        return self.output(self.blocks(self.stem(x)))


class Mlp(nn.Module):
    def __init__(self, c, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(c, hidden), nn.Linear(hidden, c)

    def forward(self, x):
        x = x.movedim(1, -1)
        return self.fc2(nn.functional.gelu(self.fc1(x))).movedim(-1, 1)


class Spectral(Mlp):
    def __init__(self, c, mh, mw):
        super().__init__(c, 2 * c)
        self.real, self.imag = (nn.Parameter(torch.zeros(c, c, mh, mw)) for _ in range(2))

    def forward(self, x):
        mh, mw = self.real.shape[2:]
        z = torch.fft.rfft2(x, norm="ortho")
        out = torch.zeros_like(z)
        out[:, :, :mh, :mw] = torch.einsum("bihw,iohw->bohw", z[:, :, :mh, :mw], torch.complex(self.real, self.imag))
        return super().forward(torch.fft.irfft2(out, s=x.shape[2:], norm="ortho"))


class Afno(nn.Module):
    def __init__(self, c, mh, mw, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(1, c), nn.GroupNorm(1, c)
        self.spectral, self.mlp = Spectral(c, mh, mw), Mlp(c, hidden)

    def forward(self, x):
        x = x + self.spectral(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Level(nn.Module):
    pass


class Uafno(nn.Module):
    def __init__(self, b, levels, norm, per_level, afno):
        super().__init__()
        self.stem = ConvBlock(3, b, 3, norm)
        widths = [b] + [min(2 ** (j + 1), 8) * b for j in range(levels)]
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        for i, o in zip(widths, widths[1:]):
            level = Level()
            level.blocks = nn.Sequential(*(ResidualBlock(i if q == 0 else o, o, 3, norm) for q in range(per_level)))
            level.down = ConvBlock(o, o, 3, norm, stride=2)
            self.encoder.append(level)
        self.bottleneck = nn.Sequential(*(Afno(widths[-1], *shape) for shape in afno))
        width = widths[-1]
        for o in reversed(widths[1:]):
            level = Level()
            level.conv = ConvBlock(width + o, o, 3, norm)
            level.blocks = nn.Sequential(*(ResidualBlock(o, o, 3, norm) for _ in range(per_level)))
            self.decoder.append(level)
            width = o
        self.output = nn.Conv2d(width, 3, 1)

    def forward(self, x):
        x, skips = self.stem(x), []
        for level in self.encoder:
            skips.append(level.blocks(x))
            x = level.down(skips[-1])
        x = self.bottleneck(x)
        for level in self.decoder:
            x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = level.blocks(level.conv(torch.cat([x, skips.pop()], 1)))
        return self.output(x)


def module_for(name, weights):
    kind, norm, layers = name.split(".")
    b = weights["stem.weight"].shape[0]
    if kind == "cnn":
        return Cnn(b, weights["stem.weight"].shape[2], int(layers), norm)
    shapes = []
    while f"bottleneck.{len(shapes)}.mlp.fc1.weight" in weights:
        p = f"bottleneck.{len(shapes)}"
        shapes.append((*weights[f"{p}.spectral.real"].shape[2:], weights[f"{p}.mlp.fc1.weight"].shape[0]))
    per_level = sum(1 for k in weights if k.startswith("encoder.0.blocks.") and k.endswith("conv1.weight"))
    return Uafno(b, int(layers), norm, per_level, shapes)


def check(folder, name, dtype):
    weights = dict(np.load(f"{folder}/{name}.weights.npz"))
    model = module_for(name, weights)
    missing, unexpected = model.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()}, strict=False)
    missing = [k for k in missing if "running_" not in k and "num_batches" not in k]
    if missing or unexpected:
        return f"{name}: missing {missing}, unexpected {unexpected}"
    model = model.to(dtype).eval()
    with torch.no_grad():
        want = model(torch.from_numpy(np.load(f"{folder}/{name}.field.npy")).to(dtype)).double().numpy()
    got = np.load(f"{folder}/{name}.output.npy").astype(np.float64)
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    print(f"{name:24s} {str(dtype):14s} relative error {error:.2e}")
    return None if error <= LIMIT else f"{name} in {dtype}: relative error {error:.2e} above {LIMIT}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        names = sorted(os.path.basename(p)[: -len(".weights.npz")] for p in glob.glob(f"{folder}/*.weights.npz"))
        failures = [f for n in names for t in (torch.float64, torch.float32) if (f := check(folder, n, t))]
    for f in failures:
        print("FAIL", f)
    sys.exit(bool(failures) or not names)


if __name__ == "__main__":
    main()
