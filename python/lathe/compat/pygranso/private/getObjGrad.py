"""The gradient of f by PyTorch's reverse mode, for functions that return gradients (``opts.globalAD = False``)."""
from __future__ import annotations

from lathe.capture.reverse import jacobian
from .points import precision


def getObjGrad(nvar, var_dim_map, f, X, torch_device, double_precision):
    """n x 1; X has the variables as attributes. The graph of f stays, so that more can be asked of it."""
    return column(nvar, f, [getattr(X, name) for name in var_dim_map], torch_device, double_precision)


def getObjGradDL(nvar, model, f, torch_device, double_precision):
    """n x 1, with respect to the parameters of a module."""
    return column(nvar, f, list(model.parameters()), torch_device, double_precision)


def column(nvar, f, leaves, torch_device, double_precision):
    return jacobian(f.reshape(1), leaves).reshape(nvar, 1).to(device=torch_device, dtype=precision(double_precision))
