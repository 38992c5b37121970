"""compute_kernel_matrix of the quantum-kernel pipeline, on lathe."""
from __future__ import annotations

import os

import numpy as np

from lathe.errors import ArgumentError
from lathe.kernels import QuantumKernel
from lathe.progress import bar

#: gram_backend -> where it runs; None: on a GPU where the name of the simulator says so.
BACKENDS = {"auto": None, "torch": None, "cuda_states": "cuda", "cuda": "cuda", "cpu": "cpu", "numpy": "cpu"}
TENSORCORE = ("fp32", "tf32", "bf16", "fp16")


def compute_kernel_matrix(X, Y=None, *, weights, device_name="lightning.qubit", tile_size=128, symmetric=True, n_workers=16, dtype="float64",
                          return_dtype="float64", gram_backend="auto", progress=False, desc="Gram", angle_scale=1.0, re_embed_between_layers=False,
                          embed_mode="ryrz", normalize=False, jitter=0.0, state_tile=-1, tile_m="auto", tile_n="auto", tile_k="auto", autotune=True,
                          precompute_all_states=True, vram_fraction=0.95, dynamic_batch=False, num_streams=2, learn_tiles=True, use_cuda_graphs=False,
                          profile_memory=False, verbose_profile=False, use_pinned_memory=False, use_cuda_streams=False, use_amp=False, use_compile=False,
                          tensorcore_precision="fp32") -> np.ndarray:
    """K_ij = |<psi(x_i)|psi(y_j)>|^2 as a dense N x M array; without Y of X with itself.

    gram_backend: 'cpu' or 'numpy'; 'cuda' or 'cuda_states'; 'torch' and 'auto' run on a GPU where device_name contains "gpu". A backend that
    cannot run is an error. A number as tile_m switches autotuning off. use_amp, use_compile, use_cuda_streams and tensorcore_precision chose
    among PyTorch's ways to multiply; they never changed results and choose nothing here.
    """
    if tensorcore_precision not in TENSORCORE:
        raise ArgumentError(f"tensorcore_precision {tensorcore_precision!r}: expected one of {', '.join(TENSORCORE)}")
    device = device_of(gram_backend, device_name)
    tuned = bool(autotune) and not fixed_tiles(tile_m, tile_n, tile_k)
    kernel = QuantumKernel(weights, device=device, **{
        "embed": embed_mode, "angle-scale": float(angle_scale), "re-embed": bool(re_embed_between_layers), "dtype": precision(dtype),
        "return-dtype": precision(return_dtype), "symmetric": bool(symmetric) and Y is None, "normalize": bool(normalize),
        "jitter": float(jitter) if normalize else 0.0, "tile-size": int(tile_size), "state-tile": int(state_tile), "precompute": bool(precompute_all_states),
        "vram-fraction": float(vram_fraction), "autotune": tuned, "dynamic-batch": bool(dynamic_batch), "learn-tiles": bool(learn_tiles),
        "profile-memory": bool(profile_memory or verbose_profile), "workers": threads(n_workers), "streams": int(num_streams),
        "cuda-graphs": bool(use_cuda_graphs), "pinned": bool(use_pinned_memory) or device == "cuda"})
    with bar(bool(progress), desc, "pair") as step:
        made = kernel.evaluate(rows(X, "X"), None if Y is None else rows(Y, "Y"), progress=step)
    if verbose_profile:
        print("\n".join(f"{name:24} {value}" for name, value in kernel.info.items()))
    return np.ascontiguousarray(made)


def device_of(backend, device_name) -> str:
    if backend not in BACKENDS:
        raise ArgumentError(f"gram_backend {backend!r}: expected one of {', '.join(BACKENDS)}")
    return BACKENDS[backend] or ("cuda" if "gpu" in str(device_name) else "cpu")


def fixed_tiles(*tiles) -> bool:
    for tile in tiles:
        if tile != "auto" and (isinstance(tile, bool) or not isinstance(tile, (int, np.integer)) or tile < 1):
            raise ArgumentError(f"a kernel tile of {tile!r}: expected 'auto' or a whole number of at least 1")
    return tiles[0] != "auto"


def precision(dtype) -> str:
    """float32 where it is asked for; any other text means float64."""
    return "float32" if str(np.dtype(dtype) if not isinstance(dtype, str) else dtype) == "float32" else "float64"


def threads(n_workers) -> int:
    """As many as asked for; 0 (all) where that is as many as there are."""
    n = int(n_workers)
    if n < 0:
        raise ArgumentError(f"n_workers {n}: expected at least 0")
    return max(n, 1) if n < (os.cpu_count() or 1) else 0


def rows(values, name) -> np.ndarray:
    """A tensor or array on the host; the kernel checks width and numbers."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    array = np.asarray(values)
    if array.ndim != 2:
        raise ArgumentError(f"{name} has {array.ndim} dimensions: expected rows of features")
    return array
