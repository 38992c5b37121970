"""Gradients of constraints by PyTorch's reverse mode, all of them in one call."""
from __future__ import annotations

from lathe.capture.reverse import jacobian
from .points import precision


def getCiGradVec(nvar, nconstr_ci_total, var_dim_map, X, ci_vec_torch, torch_device, double_precision):
    """n x k, one column per constraint; X has the variables as attributes."""
    return columns(nvar, nconstr_ci_total, ci_vec_torch, [getattr(X, name) for name in var_dim_map], torch_device, double_precision)


def getCiGradVecDL(nvar, nconstr_ci_total, model, ci_vec_torch, torch_device, double_precision):
    """n x k, with respect to the parameters of a module."""
    return columns(nvar, nconstr_ci_total, ci_vec_torch, list(model.parameters()), torch_device, double_precision)


def columns(nvar, k, vector, leaves, torch_device, double_precision):
    if vector.numel() != k:
        raise ValueError(f"getCiGradVec: {vector.numel()} constraints were given, {k} were announced")
    return jacobian(vector.reshape(-1), leaves).reshape(k, nvar).T.to(device=torch_device, dtype=precision(double_precision))
