"""From the vector of all variables to named tensors."""
from __future__ import annotations

import math

from ..pygransoStruct import pygransoStruct
from .getNvar import getNvar, sizes_of


def vec2tensor(x, var_dim_map) -> pygransoStruct:
    """The tensors of x by name: views of x, row-major, in the order of the dict."""
    flat = x.reshape(-1)
    if flat.shape[0] != getNvar(var_dim_map):
        raise ValueError(f"vec2tensor: x has {flat.shape[0]} numbers, the variables have {getNvar(var_dim_map)}")
    made, at = pygransoStruct(), 0
    for name, sizes in var_dim_map.items():
        shape = sizes_of(sizes)
        setattr(made, name, flat[at:at + math.prod(shape)].reshape(shape))
        at += math.prod(shape)
    return made
