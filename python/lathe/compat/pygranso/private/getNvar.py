"""Numbers of variables."""
from __future__ import annotations

import math


def getNvar(var_dim_map) -> int:
    """How many numbers the variables of a dict name -> sizes hold."""
    return sum(math.prod(int(s) for s in sizes_of(sizes)) for sizes in var_dim_map.values())


def getNvarTorch(parameters) -> int:
    """How many numbers the parameters of a module hold: ``getNvarTorch(model.parameters())``."""
    return sum(p.numel() for p in parameters)


def sizes_of(sizes) -> tuple:
    """A list of sizes as a tuple; one number is the length of a vector."""
    return tuple(int(s) for s in sizes) if hasattr(sizes, "__iter__") else (int(sizes),)
