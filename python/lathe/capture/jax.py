"""Front: JAX code, traced by make_jaxpr to primitives, which jaxpr.py maps onto the op table.

Everything is traced and compared in double precision, whatever JAX is set to: the variables of a run are doubles.
"""
from __future__ import annotations

import sys

import numpy as np

from ..errors import CaptureError
from ..tree import flatten, tree_map, unflatten
from .tracer import ComplexTracer, Refused, Tracer, cast, refuse

NAME = "JAX code"
#: Primitives that only hold another jaxpr, and where they hold it.
WRAPPERS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
            "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr"}
RANDOM = ("random_", "threefry", "rng_")


def doubles():
    import jax
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


def ready(arguments) -> bool:
    return all(isinstance(a, sys.modules["jax"].Array) for a in arguments)


def arguments(arrays):
    import jax.numpy as jnp
    with doubles():
        return [jnp.asarray(a) for a in arrays]


def trace(function, graph, nodes, arrays):
    import jax
    shape = {}

    def flat(*tensors):
        leaves, shape["tree"] = flatten(function(*tensors))
        return leaves
    try:
        with doubles():
            closed = jax.make_jaxpr(flat)(*arguments(arrays))
            made = run(closed.jaxpr, closed.consts, [Tracer(n) for n in nodes])
    except jax.errors.ConcretizationTypeError as error:
        raise CaptureError("the function branches on a value or takes it out of an array") from error
    return unflatten(shape["tree"], [returned(leaf) for leaf in made])


def run(jaxpr, constants, inputs):
    """The equations one after the other; what depends on no variable is computed by JAX itself."""
    values = dict(zip(jaxpr.constvars, constants)) | dict(zip(jaxpr.invars, inputs))

    def read(atom):
        return atom.val if hasattr(atom, "val") else values[atom]
    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        made = apply(equation, operands)
        made = made if equation.primitive.multiple_results else [made]
        values.update((var, fitted(value, var)) for var, value in zip(equation.outvars, made))
    return [read(atom) for atom in jaxpr.outvars]


def apply(equation, operands):
    from .jaxpr import TABLE
    name, parameters = equation.primitive.name, equation.params
    if name.startswith(RANDOM):
        refuse(f"the function draws random numbers ({name})")
    if name in WRAPPERS:
        inner = parameters[WRAPPERS[name]]
        made = run(inner.jaxpr, inner.consts, operands)
        return made if equation.primitive.multiple_results else made[0]
    if not any(isinstance(o, (Tracer, ComplexTracer, Refused)) for o in operands):
        return equation.primitive.bind(*operands, **parameters)
    if name not in TABLE:
        refuse(f"the primitive {name} has no op")
    return TABLE[name](*[plain(o) for o in operands], **parameters)


def plain(value):
    if isinstance(value, (Tracer, ComplexTracer, Refused)):
        return value
    array = np.asarray(value)
    return array.item() if array.ndim == 0 and array.dtype != bool else array


def fitted(value, var):
    """The result in the shape and precision that JAX gave it."""
    if not isinstance(value, Tracer):
        return value
    if tuple(value.shape) != tuple(var.aval.shape):
        raise CaptureError(f"an op made shape {value.shape} where JAX makes {tuple(var.aval.shape)}")
    dtype = np.dtype(var.aval.dtype)
    return cast(value, dtype) if dtype.kind == "f" and not value.logical else value


def returned(leaf):
    if isinstance(leaf, ComplexTracer):
        refuse("the function returns complex values")
    if isinstance(leaf, Refused):
        leaf._no()
    return leaf if isinstance(leaf, Tracer) else np.asarray(leaf)


# ---- The original --------------------------------------------------------------------------------------------------------
def call(function, arrays):
    with doubles():
        return function(*arguments(arrays))


def value(made):
    return tree_map(np.asarray, made)


def gradients(function, arrays, weights):
    """Derivatives of sum(weights . outputs) by JAX's reverse mode."""
    import jax
    import jax.numpy as jnp

    def total(*tensors):
        leaves = [o for o in flatten(function(*tensors))[0] if np.dtype(jnp.result_type(o)).kind == "f" and jnp.size(o)]
        return sum(jnp.sum(o * jnp.asarray(w).reshape(jnp.shape(o))) for o, w in zip(leaves, weights))
    with doubles():
        real = tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f")
        return [np.asarray(g) for g in jax.grad(total, argnums=real)(*arguments(arrays))]


def callbacks(bound, variables, arrays):
    """Way 3 for functions of JAX arrays: (p, q, values, gradients, where gradients come from)."""
    made = Called(bound, variables)
    made(variables.pack(arrays))
    return *made.sizes, made, made.gradients, "JAX's reverse mode"


class Called:
    """values(x) and gradients(x) of the column [f, ci, ce]; the vector-Jacobian product of the last values is kept."""

    def __init__(self, bound, variables):
        self.bound, self.variables, self.sizes, self.back = bound, variables, None, None

    def column(self, *tensors):
        import jax.numpy as jnp
        from ..problem import parts_of
        f, ci, ce = parts_of(self.bound(*tensors))
        parts = [[jnp.ravel(jnp.asarray(leaf, dtype=float)) for leaf in flatten(part)[0]] for part in (f, ci, ce)]
        sizes = [sum(leaf.size for leaf in part) for part in parts]
        if sizes[0] != 1:
            from ..errors import ShapeError
            raise ShapeError(f"f has {sizes[0]} elements: expected one number")
        self.sizes = tuple(sizes[1:])
        return jnp.concatenate([leaf for part in parts for leaf in part])

    def __call__(self, x):
        import jax
        with doubles():
            made, self.back = jax.vjp(self.column, *arguments([np.array(part) for part in self.variables.unpack(x)]))
        made, p = np.asarray(made), self.sizes[0]
        return float(made[0]), made[1:1 + p], made[1 + p:]

    def gradients(self, x):
        import jax
        if self.back is None:
            self(x)
        k, p = 1 + sum(self.sizes), self.sizes[0]
        with doubles():
            parts = jax.vmap(self.back)(jax.numpy.eye(k))
        rows = np.concatenate([np.asarray(part).reshape(k, -1) for part in parts], 1)
        self.back = None
        return rows[0], rows[1:1 + p], rows[1 + p:]
