"""np.linalg on tracers."""
from __future__ import annotations

import numpy as np

from . import functions
from .functions import axes_of, of, traced
from .tracer import ComplexTracer, Refused, Tracer, graph_of, lift, refuse


def matrix(a, name) -> Tracer:
    x = traced(a, real=True)
    if x.ndim != 2:
        refuse(f"np.linalg.{name} of stacked matrices" if x.ndim > 2 else f"np.linalg.{name} of a vector")
    return x


def one(op, name):
    return lambda a: Tracer(graph_of(a).op(op, matrix(a, name).node))


functions.TABLE.update({np.linalg.det: one("det", "det"), np.linalg.inv: one("inv", "inv")})


@of(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    """From the lower triangle alone, as LAPACK reads it: derivatives with respect to the upper one are 0, as of the original."""
    x = matrix(a, "cholesky")
    lower = np.tril(x)
    made = Tracer(x.node.graph.op("cholesky", (lower + np.tril(x, -1).T).node))
    return made.T if upper else made


@of(np.linalg.solve)
def solve(a, b):
    g = graph_of(a, b)
    return Tracer(g.op("linsolve", matrix(lift(g, a), "solve").node, traced(lift(g, b), real=True).node))


@of(np.linalg.slogdet)
def slogdet(a):
    x = matrix(a, "slogdet")
    sign, log = np.sign(Tracer(x.node.graph.op("det", x.node))), Tracer(x.node.graph.op("logabsdet", x.node))
    try:
        return type(np.linalg.slogdet(np.eye(1)))(sign, log)
    except TypeError:  # a plain tuple before NumPy 1.25
        return sign, log


@of(np.linalg.eigvals)
def eigvals(a):
    x = matrix(a, "eigvals")
    g = x.node.graph
    return ComplexTracer(Tracer(g.op("eigvals_re", x.node)), Tracer(g.op("eigvals_im", x.node)))


@of(np.linalg.eig)
def eig(a):
    return eigvals(a), Refused("eigenvectors have no derivative here")


def symmetric(a, UPLO, name) -> Tracer:
    """The triangle that LAPACK reads, mirrored: the other one has no influence on the result."""
    x = matrix(a, name)
    half = np.tril(x, -1) if UPLO.upper() == "L" else np.triu(x, 1)
    return half + half.T + x * np.eye(x.shape[0])


@of(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    x = symmetric(a, UPLO, "eigvalsh")
    return Tracer(x.node.graph.op("eigvalsh", x.node))


@of(np.linalg.eigh)
def eigh(a, UPLO="L"):
    return eigvalsh(a, UPLO), Refused("eigenvectors have no derivative here")


@of(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    x = matrix(a, "svd")
    values = Tracer(x.node.graph.op("svdvals", x.node))
    vectors = Refused("singular vectors have no derivative here")
    return (vectors, values, vectors) if compute_uv else values


if hasattr(np.linalg, "svdvals"):
    functions.TABLE[np.linalg.svdvals] = lambda x: svd(x, compute_uv=False)


@of(np.linalg.cond)
def cond(x, p=None):
    if p not in (None, 2):
        return norm(x, p) * norm(np.linalg.inv(x), p)
    s = svd(x, compute_uv=False)
    return s[0] / s[-1]


@of(np.linalg.matrix_power)
def matrix_power(a, n):
    x = matrix(a, "matrix_power")
    if n < 0:
        x, n = np.linalg.inv(x), -n
    if n == 0:
        return np.eye(x.shape[0])
    made = None
    while n:
        if n & 1:
            made = x if made is None else made @ x
        n >>= 1
        x = x @ x if n else x
    return made


@of(np.linalg.multi_dot)
def multi_dot(arrays):
    made = arrays[0]
    for a in arrays[1:]:
        made = np.dot(made, a)
    return made


# ---- Norms ---------------------------------------------------------------------------------------------------------------
@of(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = traced(x, real=True)
    axes = axes_of(axis, x.ndim)
    if ord is None and axis is None:
        made = Tracer(x.node.graph.op("norm", x.node))
        return np.reshape(made, (1,) * x.ndim) if keepdims else made
    if len(axes) == 1:
        return vector_norm(x, 2 if ord is None else ord, axes[0], keepdims)
    if len(axes) == 2:
        return matrix_norm(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def vector_norm(x, order, axis, keepdims):
    if order in (1, 2, np.inf):
        return Tracer(x.node.graph.op("norm_axis", x.node, float(order), axis, bool(keepdims)))
    size = np.absolute(x)
    if order == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if order == 0:
        return np.sum(np.where(np.equal(size, 0), 0.0, 1.0), axis=axis, keepdims=keepdims)
    return np.sum(size ** float(order), axis=axis, keepdims=keepdims) ** (1.0 / order)


def matrix_norm(x, order, axes, keepdims):
    if order in (None, "fro"):
        return np.sqrt(np.sum(np.square(x), axis=axes, keepdims=keepdims)) if x.ndim > 2 or keepdims else Tracer(x.node.graph.op("norm", x.node))
    if x.ndim > 2 or keepdims:
        refuse(f"np.linalg.norm of order {order!r} of stacked matrices")
    size, g = np.absolute(x), x.node.graph
    rows = {1: 0, -1: 0, np.inf: 1, -np.inf: 1}
    if order in rows:
        sums = np.sum(size, axis=rows[order])
        return np.max(sums) if order > 0 else np.min(sums)
    if order == "nuc":
        return Tracer(g.op("norm_nuc", x.node))
    if order == 2:
        return Tracer(g.op("norm_spec", x.node))
    if order == -2:
        return svd(x, compute_uv=False)[-1]
    raise ValueError("Invalid norm order for matrices.")


for _name, _handler in (("matrix_norm", lambda x, *, keepdims=False, ord="fro": norm(x, ord, (-2, -1), keepdims)),
                        ("vector_norm", lambda x, *, axis=None, keepdims=False, ord=2: norm(x if axis is not None else np.ravel(x), ord, axis, keepdims)),
                        ("trace", lambda x, *, offset=0, dtype=None: np.trace(x, offset, -2, -1)),
                        ("diagonal", lambda x, *, offset=0: np.diagonal(x, offset, -2, -1)),
                        ("outer", lambda a, b: np.outer(a, b)), ("matmul", lambda a, b: np.matmul(a, b)), ("matrix_transpose", lambda x: np.swapaxes(x, -1, -2))):
    if hasattr(np.linalg, _name):
        functions.TABLE.setdefault(getattr(np.linalg, _name), _handler)
