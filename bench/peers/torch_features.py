"""Default features of a trajectory in plain PyTorch: the formulas of docs/features.md, one tensor call after the other.

States are [n, C, H, W]; `temporal` gives a row of 63 per state, `summary` a row of 110 per trajectory from the series that
`series` collects. Everything works on any number of states at once, so that a caller may hand over one state after the
other or a whole trajectory. SPDX-License-Identifier: BSD-3-Clause
"""
import math

import torch

F = torch.nn.functional


def gradients(u):
    """Periodic central differences along x and y."""
    gx = (torch.roll(u, -1, -1) - torch.roll(u, 1, -1)) / 2
    gy = (torch.roll(u, -1, -2) - torch.roll(u, 1, -2)) / 2
    return gx, gy


# ---- Per time step ------------------------------------------------------------------------------------
def spatial(u):
    """24 columns of one channel."""
    flat = u.flatten(-2)
    mean, var = flat.mean(-1), flat.var(-1)
    z = (flat - mean[..., None]) / var.sqrt().clamp(min=1e-4)[..., None]
    flat_enough = var.sqrt() < 1e-4
    skew = torch.where(flat_enough, 0, (z ** 3).mean(-1))
    kurt = torch.where(flat_enough, 0, (z ** 4).mean(-1) - 3)
    low, high = flat.amin(-1), flat.amax(-1)
    q = torch.quantile(flat, torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95]), dim=-1)
    mad = (flat - flat.median(-1).values[..., None]).abs().median(-1).values
    gx, gy = gradients(u)
    size = (gx ** 2 + gy ** 2).sqrt().flatten(-2)
    lap = sum(torch.roll(u, s, d) for s in (-1, 1) for d in (-1, -2)) - 4 * u
    anisotropy = gx.abs().mean((-2, -1)) / (gy.abs().mean((-2, -1)) + 1e-8)
    return [mean, var, var.sqrt(), skew, kurt, low, high, high - low, q[3] - q[1], mad,
            size.mean(-1), size.std(-1), size.amax(-1), gx.mean((-2, -1)), gy.mean((-2, -1)), anisotropy,
            lap.mean((-2, -1)), lap.flatten(-2).std(-1), (lap ** 2).mean((-2, -1)), *q]


def bands(side):
    """Masks of five rings of frequencies and the frequencies themselves."""
    ky = torch.fft.fftfreq(side)[:, None]
    kx = torch.fft.rfftfreq(side)[None, :]
    f = (kx ** 2 + ky ** 2).sqrt()
    edge = torch.linspace(math.sqrt(0.5), math.sqrt(float((f * side).max())), 6) ** 2
    return [(f * side >= edge[i]) & (f * side < edge[i + 1]) for i in range(5)], kx, ky, f


def spectral(u):
    """27 columns of one channel."""
    side = u.shape[-1]
    masks, kx, ky, f = bands(side)
    p = torch.fft.rfft2(u, norm="ortho").abs() ** 2
    flat, out = p.flatten(-2), []
    for mask in masks:
        inside, n = (p * mask).flatten(-2), mask.sum()
        out += [inside.sum(-1) / (n + 1e-8), (inside.amax(-1) / (n + 1e-8)).clamp(max=1e6), (inside / (n + 1e-8).sqrt()).std(-1)]
    columns = p.shape[-1]
    top = flat.argmax(-1)
    out += [(top % columns) / side, (top // columns) / side, flat.gather(-1, top[..., None])[..., 0]]
    total = flat.sum(-1)
    cx, cy = (p * kx).sum((-2, -1)) / (total + 1e-8), (p * ky).sum((-2, -1)) / (total + 1e-8)
    spread = (p * ((kx - cx[..., None, None]) ** 2 + (ky - cy[..., None, None]) ** 2)).sum((-2, -1)) / (total + 1e-8)
    out += [cx, cy, (spread + 1e-8).sqrt()]
    low, middle = f < side / 16, f < side / 8
    for mask in (low, middle & ~low, ~middle):
        out.append((p * mask).sum((-2, -1)) / (total + 1e-8))
    out.append(torch.exp((flat + 1e-10).log().mean(-1)) / (flat.mean(-1) + 1e-10))
    ordered = flat.sort(-1, descending=True).values.cumsum(-1)
    reached = (ordered >= 0.85 * total[..., None]).float().argmax(-1)
    out += [reached / flat.shape[-1], total / (total + 1e-8)]
    return out


def bins_of(flat, n):
    low, high = flat.amin(-1, keepdim=True), flat.amax(-1, keepdim=True)
    return ((n - 1) * (flat - low) / (high - low + 1e-8)).floor().long().clamp(0, n - 1)


def counted(index, n):
    """Shares of n bins: [..., pixels] -> [..., n]."""
    return torch.zeros(*index.shape[:-1], n).scatter_add_(-1, index, torch.ones(index.shape)) / index.shape[-1]


def cross_channel(u):
    """12 columns of all channels."""
    flat = u.flatten(-2)
    z = (flat - flat.mean(-1, keepdim=True)) / (flat.std(-1, keepdim=True) + 1e-8)
    r = z @ z.transpose(-1, -2) / flat.shape[-1]
    e = torch.linalg.eigvalsh(r).flip(-1)
    trace = e.sum(-1)
    i, j = torch.triu_indices(3, 3, 1)
    pair = r[..., i, j]
    index = bins_of(flat, 16)
    information = []
    for a, b in zip(i.tolist(), j.tolist()):
        joint = counted(16 * index[..., a, :] + index[..., b, :], 256).unflatten(-1, (16, 16))
        alone = joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
        information.append(torch.where(joint > 0, joint * (joint / (alone + 1e-10)).clamp(min=1e-30).log(), 0).sum((-2, -1)))
    information = torch.stack(information, -1)
    return [e[..., 0], e[..., 1], e[..., 2], trace, e[..., 0] / (e[..., 2] + 1e-8), trace ** 2 / ((e ** 2).sum(-1) + 1e-8),
            pair.mean(-1), pair.amax(-1), pair.amin(-1), pair.std(-1), information.mean(-1), information.amax(-1)]


def temporal(u):
    """[n, C, H, W] -> [n, 63], the mean over channels."""
    one = torch.stack(spatial(u) + spectral(u), -1).mean(-2)
    return torch.cat([one, torch.stack(cross_channel(u), -1)], -1)


# ---- Series of a trajectory ----------------------------------------------------------------------------
def blur(u):
    x = torch.arange(-4, 5, dtype=torch.float32)
    g = torch.exp(-x ** 2 / 8)
    g = (g[:, None] * g[None, :])
    return F.conv2d(u.flatten(0, -3)[:, None], (g / g.sum())[None, None], padding=4).reshape(u.shape)


def invariants(u):
    """Five norms of the field, its smooth and its rough part: [..., 5, 3]."""
    smooth = blur(u)
    rows = []
    for v in (u, smooth, u - smooth):
        flat = v.flatten(-2)
        p = counted(bins_of(flat, 32), 32)
        rows.append(torch.stack([flat.abs().sum(-1), ((flat ** 2).sum(-1) + 1e-8).sqrt(), flat.abs().amax(-1), -(p * (p + 1e-10).log()).sum(-1),
                                 v.diff(dim=-1).abs().sum((-2, -1)) + v.diff(dim=-2).abs().sum((-2, -1))], -1))
    return torch.stack(rows, -1)


def correlation(a, b):
    a, b = a.flatten(-2), b.flatten(-2)
    a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)
    return (a * b).mean(-1) / ((a.std(-1) + 1e-8) * (b.std(-1) + 1e-8))


def flow(before, after):
    """How the next state follows the slopes of this one: size and anisotropy."""
    gx, gy = gradients(before)
    rx, ry = correlation(gx, after), correlation(gy, after)
    return torch.stack([(rx ** 2 + ry ** 2 + 1e-8).sqrt(), rx.abs() / (ry.abs() + 1e-8)], -1)


def series(u):
    """Mean, energy, variance, 15 norms: [..., 18]."""
    return torch.cat([torch.stack([u.mean((-2, -1)), (u ** 2).sum((-2, -1)), u.flatten(-2).var(-1)], -1), invariants(u).flatten(-2)], -1)


# ---- Per trajectory --------------------------------------------------------------------------------------
def slope_of(y):
    t = torch.arange(y.shape[-1], dtype=y.dtype)
    t = t - t.mean()
    return (y * t).sum(-1) / (t ** 2).sum()


def first(hit, otherwise):
    return torch.where(hit.any(-1), hit.float().argmax(-1), otherwise)


def rising(h):
    return (h[..., 1:] & ~h[..., :-1]).sum(-1)


def dynamics(s, energy, variance):
    """36 columns of one channel's series, [..., T]."""
    n = s.shape[-1]
    centred, step = s - s.mean(-1, keepdim=True), s.diff()
    power = torch.fft.rfft(energy - energy.mean(-1, keepdim=True)).abs() ** 2
    frequency = (power[..., 1:].argmax(-1) + 1) / n
    spectrum = torch.fft.rfft(centred, 2 * n).abs() ** 2
    correlated = torch.fft.irfft(spectrum, 2 * n)[..., :20]
    correlated = correlated / (correlated[..., :1] + 1e-8)
    t = torch.arange(n, dtype=s.dtype)
    residual = centred - slope_of(s)[..., None] * (t - t.mean())
    trend = (1 - (residual ** 2).sum(-1) / ((centred ** 2).sum(-1) + 1e-10)).clamp(0, 1)
    high = s > (s.mean(-1) + 2 * s.std(-1))[..., None]
    padded = F.pad(high, (1, 1))
    burst = padded[..., :-2] & padded[..., 1:-1] & padded[..., 2:]
    sign = torch.sign(centred)
    start = s[..., :1]
    out = [slope_of((energy + 1e-8).log()), energy.diff(n=2).abs().mean(-1), slope_of((variance + 1e-8).log()),
           frequency, energy.amax(-1) - energy.amin(-1), 1 / (frequency + 1e-8), first(correlated < 1 / math.e, 20),
           (step.abs() + 1e-8).log().mean(-1), s.diff(n=2).abs().sum(-1) / (n - 2), (torch.sign(step).diff() != 0).sum(-1) / (n - 2),
           (s[..., -1].abs() + 1e-8) / (s[..., 0].abs() + 1e-8), trend, residual.var(-1),
           rising(high), rising(burst), (sign.diff() != 0).sum(-1), first(s < 0.5 * start, n) / n, first(s > 2 * start, n) / n]
    for share in (0.05, 0.10, 0.20):
        w = s.unfold(-1, max(2, int(share * n)), 1)
        mean, std = w.mean(-1), w.std(-1)
        out += [mean.mean(-1), std.mean(-1), w.amax(-1).mean(-1), w.amin(-1).mean(-1), mean.std(-1), std.std(-1)]
    return [x.float() for x in out]


def lagged(s, lag):
    """Mean and largest asymmetry between channels, s [..., C, T]."""
    a, b = s[..., :-lag], s[..., lag:]
    a, b = [(x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-8) for x in (a, b)]
    f = a @ b.transpose(-1, -2) / a.shape[-1]
    gap = f - f.transpose(-1, -2)
    return [gap.sum((-2, -1)) / 6, gap.abs().amax((-2, -1))]


def causality(s, flows):
    """14 columns; s [M, C, T], flows [M, C, T - 1, 2]."""
    out = [x for lag in (1, 2, 3) for x in lagged(s, lag)]
    errors = [(s[..., lag:] - s[..., :-lag]).abs().mean(-1) for lag in (1, 2)]
    out += [(e / (e + 1e-8)).mean(-1) for e in errors] + [(e - e).mean(-1) for e in errors]
    cubes = 2 * (s.diff() ** 3).mean(-1)
    out += [cubes.mean(-1), (cubes / (s.var(-1) + 1e-8)).mean(-1)]
    return out + [flows[..., i].mean(-1).mean(-1) for i in range(2)]


def summary(x, flows):
    """Series [M, T, C, 18] and flows [M, T - 1, C, 2] -> [M, 110]."""
    x, flows = x.permute(3, 0, 2, 1), flows.permute(0, 2, 1, 3)
    own = torch.stack(dynamics(x[0], x[1], x[2]), -1).mean(-2)
    norms = x[3:]
    step = norms.diff()
    drift = torch.stack([step.mean(-1), step.var(-1), norms[..., -1] / (norms[..., 0] + 1e-8), torch.sign(step).mean(-1)], 0)
    drift = drift.mean(-1).unflatten(1, (5, 3)).permute(3, 1, 0, 2).flatten(1)
    return torch.cat([own, torch.stack(causality(x[0], flows), -1), drift], -1)


def aggregate(rows):
    """[M, D] -> [3 D]: mean, deviation and their ratio over realizations."""
    mean = rows.mean(0)
    std = rows.std(0) if len(rows) > 1 else torch.zeros_like(mean)
    return torch.cat([mean, std, std / (mean.abs() + 1e-8)])
