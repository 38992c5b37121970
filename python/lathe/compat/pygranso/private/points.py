"""Where the function is evaluated: the vector x as what combined_fn takes."""
from __future__ import annotations

from lathe.errors import ArgumentError
from .getNvar import getNvar, getNvarTorch, sizes_of
from .vec2tensor import vec2tensor


def precision(double: bool):
    import torch
    return torch.double if double else torch.float


class Named:
    """var_spec is a dict name -> sizes: X has one tensor per name, each a leaf of its own."""

    model = None

    def __init__(self, var_dim_map, device, dtype):
        self.map, self.device, self.dtype = dict(var_dim_map), device, dtype
        self.n, self.names, self.shapes = getNvar(self.map), list(self.map), [sizes_of(s) for s in self.map.values()]
        for name, shape in zip(self.names, self.shapes):
            if any(size < 1 for size in shape):
                raise ArgumentError(f"var_spec: '{name}' has sizes {list(shape)}: expected whole numbers of at least 1")

    def at(self, x):
        """(X, leaves) for a vector of NumPy."""
        import torch
        return self.of(torch.from_numpy(x).to(device=self.device, dtype=self.dtype))

    def of(self, vector):
        X = vec2tensor(vector, self.map)
        for name, tensor in vars(X).items():
            setattr(X, name, tensor.detach().requires_grad_(True))
        return X, list(vars(X).values())

    def stand_in(self, combined_fn):
        """combined_fn as a function of one tensor per variable."""
        from ..pygransoStruct import struct
        return lambda *tensors: combined_fn(struct(**{n: t.to(self.device) for n, t in zip(self.names, tensors)}))

    def leave(self, x):
        """Nothing stays behind."""


class Module:
    """var_spec is an nn.Module: the vector is written into its parameters before every evaluation."""

    def __init__(self, model, device, dtype):
        self.model, self.device, self.dtype = model, device, dtype
        named = list(model.named_parameters())
        self.n, self.names, self.shapes = getNvarTorch(p for _, p in named), [n for n, _ in named], [tuple(p.shape) for _, p in named]

    def at(self, x):
        self.leave(x)
        return self.model, list(self.model.parameters())

    def stand_in(self, combined_fn):
        import torch

        class Caller(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self):
                return combined_fn(self.model)

        def like(tensor, parameter):
            """Of the parameter's type; one that asks for no gradient has derivatives of zero, as when the function is called."""
            return (tensor if parameter.requires_grad else tensor.detach()).to(device=self.device, dtype=parameter.dtype)

        caller, parameters = Caller(self.model), dict(self.model.named_parameters())
        return lambda *tensors: torch.func.functional_call(caller, {f"model.{n}": like(t, parameters[n]) for n, t in zip(self.names, tensors)}, ())

    def leave(self, x):
        import torch
        vector, at = torch.from_numpy(x), 0
        with torch.no_grad():
            for p in self.model.parameters():
                p.copy_(vector[at:at + p.numel()].view(p.shape))
                at += p.numel()


def points_of(var_spec, device, double: bool):
    import torch
    if isinstance(var_spec, torch.nn.Module):
        return Module(var_spec, device, precision(double))
    if isinstance(var_spec, dict) and var_spec:
        return Named(var_spec, device, precision(double))
    raise TypeError(f"var_spec: expected a dict of names and sizes or a torch.nn.Module, not {type(var_spec).__name__ if var_spec != {} else 'an empty dict'}")
