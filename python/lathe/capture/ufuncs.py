"""NumPy's ufuncs on tracers. To add one: a row in ONE, TWO or SPECIAL."""
from __future__ import annotations

import numpy as np

from .tracer import Tracer, cast, graph_of, is_number, lift, refuse

#: ufunc -> op of one operand, computed in floating point.
ONE = {
    np.sqrt: "sqrt", np.cbrt: "cbrt", np.exp: "exp", np.expm1: "expm1", np.log: "log", np.log1p: "log1p", np.sin: "sin", np.cos: "cos",
    np.tan: "tan", np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh",
    np.floor: "floor",
}
#: The same, keeping whole numbers whole.
ONE_ANY = {np.negative: "neg", np.absolute: "abs", np.fabs: "abs", np.sign: "sign", np.square: "square"}
#: ufunc -> op of two operands of one type.
TWO = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.minimum: "minimum", np.maximum: "maximum"}
#: The same, in floating point.
TWO_REAL = {np.true_divide: "div", np.arctan2: "atan2", np.hypot: "hypot"}
COMPARE = {np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge", np.equal: "eq"}
#: ufunc -> function of np that its reduce and accumulate are.
REDUCE = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_and: "all", np.logical_or: "any"}


def apply(ufunc, method, inputs, kwargs):
    if kwargs.get("out") is not None:
        refuse(f"the function changes an array in place (out= of np.{ufunc.__name__})")
    kwargs = {k: v for k, v in kwargs.items() if k != "out" and v is not None}
    if method == "reduce" and ufunc in REDUCE:
        kwargs = {"axis": 0, **kwargs}
        return getattr(np, REDUCE[ufunc])(*inputs, **kwargs)
    if method == "accumulate" and ufunc is np.add:
        return np.cumsum(inputs[0], **({"axis": 0} | kwargs))
    if method == "outer":
        a, b = inputs
        a = np.reshape(a, np.shape(a) + (1,) * np.ndim(b))
        return ufunc(a, b)
    if method != "__call__":
        refuse(f"np.{ufunc.__name__}.{method}")
    if kwargs.keys() - {"dtype"}:
        refuse(f"np.{ufunc.__name__} with {', '.join(kwargs)}")
    made = call(ufunc, inputs)
    return cast(made, kwargs["dtype"]) if "dtype" in kwargs else made


def call(ufunc, inputs):
    if ufunc in ONE:
        return one(ONE[ufunc], inputs[0], real=True)
    if ufunc in ONE_ANY:
        return one(ONE_ANY[ufunc], inputs[0], real=False)
    if ufunc in TWO or ufunc in TWO_REAL:
        return two(TWO.get(ufunc) or TWO_REAL[ufunc], *inputs, real=ufunc in TWO_REAL)
    if ufunc in COMPARE:
        return compare(COMPARE[ufunc], *inputs)
    if ufunc in SPECIAL:
        return SPECIAL[ufunc](*inputs)
    return refuse(f"np.{ufunc.__name__} has no op")


def one(op, x, real):
    g = graph_of(x)
    x = as_numbers(lift(g, x))
    if real and x.node.dtype.kind != "f":
        x = cast(x, np.float64)
    return Tracer(g.op(op, x.node))


def as_numbers(x: Tracer) -> Tracer:
    """A mask as the numbers 0 and 1."""
    return Tracer(x.node) if x.logical else x


def common_type(a, b, real):
    """NumPy's result type; plain numbers do not widen arrays."""
    parts = [v.dtype if isinstance(v, Tracer) else v if is_number(v) and not isinstance(v, (bool, np.generic)) else np.asarray(v) for v in (a, b)]
    if isinstance(parts[0], np.ndarray):
        parts[0] = parts[0].dtype
    if isinstance(parts[1], np.ndarray):
        parts[1] = parts[1].dtype
    dtype = np.result_type(*parts)
    if dtype.kind == "c":
        refuse("complex numbers")
    return np.dtype("float64") if dtype.kind == "b" or real and dtype.kind != "f" else dtype


def two(op, a, b, real=False):
    g = graph_of(a, b)
    a, b = from_list(g, a), from_list(g, b)
    dtype = common_type(a, b, real)
    scalar = with_number(g, op, a, b, dtype) if dtype.kind == "f" else None
    if scalar is not None:
        return scalar
    return Tracer(g.op(op, lift(g, a, dtype).node, lift(g, b, dtype).node))


def from_list(g, value):
    return lift(g, value) if isinstance(value, (list, tuple)) and graph_of(value) is not None else value


def with_number(g, op, a, b, dtype):
    """The shorter ops with a plain number on one side; None where there is none."""
    if is_number(b):
        x, c = lift(g, a, dtype).node, float(b)
        if op == "add":
            return Tracer(g.op("shift", x, c))
        if op == "sub":
            return Tracer(g.op("shift", x, -c))
        if op == "mul":
            return Tracer(g.op("scale", x, c))
    elif is_number(a):
        x, c = lift(g, b, dtype).node, float(a)
        if op == "add":
            return Tracer(g.op("shift", x, c))
        if op == "sub":
            return Tracer(g.op("rsub", c, x))
        if op == "mul":
            return Tracer(g.op("scale", x, c))
        if op == "div":
            return Tracer(g.op("rdiv", c, x))
    return None


def compare(op, a, b):
    g = graph_of(a, b)
    dtype = common_type(a, b, real=False)
    return Tracer(g.op(op, lift(g, a, dtype).node, lift(g, b, dtype).node), True)


def power(a, b):
    g = graph_of(a, b)
    dtype = common_type(a, b, real=False)
    if is_number(b):
        x = lift(g, a, dtype)
        if dtype.kind != "f":
            if float(b) < 0:
                refuse("whole numbers to a negative power")
            return cast_whole(g.op("pow_scalar", cast(x, np.float64).node, float(b)), dtype)
        return Tracer(g.op("square", x.node) if float(b) == 2 else g.op("pow_scalar", x.node, float(b)))
    real = np.dtype("float64") if dtype.kind != "f" else dtype
    made = g.op("pow", lift(g, a, real).node, lift(g, b, real).node)
    return Tracer(made) if dtype.kind == "f" else cast_whole(made, dtype)


def cast_whole(node, dtype):
    return Tracer(node.graph.op("cast", node, "int32" if dtype.itemsize <= 4 else "int64"))


def floor_divide(a, b):
    return np.floor(two("div", a, b, real=True))


def remainder(a, b):
    return two("mod", a, b)


def mask_of(g, x) -> Tracer:
    return cast(lift(g, x), bool) if isinstance(x, Tracer) else lift(g, np.asarray(x, dtype=bool))


def logical_and(a, b):
    g = graph_of(a, b)
    return Tracer(g.op("mul", mask_of(g, a).node, mask_of(g, b).node), True)


def logical_or(a, b):
    g = graph_of(a, b)
    return Tracer(g.op("maximum", mask_of(g, a).node, mask_of(g, b).node), True)


def logical_not(x):
    g = graph_of(x)
    return Tracer(g.op("rsub", 1.0, mask_of(g, x).node), True)


def logical_xor(a, b):
    g = graph_of(a, b)
    return logical_not(Tracer(g.op("eq", mask_of(g, a).node, mask_of(g, b).node), True))


def only_masks(function, name):
    def checked(*values):
        if not all(isinstance(v, Tracer) and v.logical or not isinstance(v, Tracer) and np.asarray(v).dtype.kind == "b" for v in values):
            refuse(f"{name} of bits")
        return function(*values)
    return checked


def same(x):
    return x


def finite(x):
    """abs(x) < inf: false for NaN and infinities."""
    return compare("lt", np.absolute(x), np.inf)


def heaviside(x, at_zero):
    return np.where(np.equal(x, 0), at_zero, np.where(np.greater(x, 0), 1.0, 0.0))


def matmul(a, b):
    from .functions import matrix_product
    return matrix_product(a, b)


def log_base(base):
    return lambda x: np.log(x) * float(1.0 / np.log(base))


def logaddexp(a, b):
    """max + log1p(exp(-|a - b|)): no overflow."""
    return np.maximum(a, b) + np.log1p(np.exp(-np.absolute(np.subtract(a, b))))


SPECIAL = {
    np.power: power, np.float_power: lambda a, b: power(np.multiply(a, 1.0), b), np.floor_divide: floor_divide, np.remainder: remainder, np.matmul: matmul,
    np.positive: same, np.conjugate: same, np.reciprocal: lambda x: np.true_divide(1.0, x), np.not_equal: lambda a, b: logical_not(compare("eq", a, b)),
    np.logical_and: logical_and, np.logical_or: logical_or, np.logical_not: logical_not, np.logical_xor: logical_xor,
    np.bitwise_and: only_masks(logical_and, "and"), np.bitwise_or: only_masks(logical_or, "or"), np.bitwise_xor: only_masks(logical_xor, "exclusive or"),
    np.invert: only_masks(logical_not, "not"), np.isfinite: finite, np.isnan: lambda x: np.not_equal(x, x),
    np.isinf: lambda x: np.equal(np.absolute(x), np.inf), np.ceil: lambda x: -np.floor(np.negative(x)), np.heaviside: heaviside,
    np.exp2: lambda x: np.exp(x * float(np.log(2.0))), np.log2: log_base(2.0), np.log10: log_base(10.0), np.logaddexp: logaddexp,
    np.deg2rad: lambda x: x * float(np.pi / 180), np.radians: lambda x: x * float(np.pi / 180), np.rad2deg: lambda x: x * float(180 / np.pi),
    np.degrees: lambda x: x * float(180 / np.pi), np.arcsinh: lambda x: np.sign(x) * np.log(np.absolute(x) + np.sqrt(np.square(x) + 1.0)),
    np.arccosh: lambda x: np.log(x + np.sqrt(np.square(x) - 1.0)), np.arctanh: lambda x: 0.5 * (np.log1p(x) - np.log1p(-x)),
    np.trunc: lambda x: np.where(np.less(x, 0), np.ceil(x), np.floor(x)),
}
