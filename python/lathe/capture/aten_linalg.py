"""ATen's linear algebra on tracers."""
from __future__ import annotations

import numpy as np

from .aten import Singular, TABLE, floating, of
from .tracer import Refused, graph_of, lift


@of("mm", "bmm", "mv", "dot", "matmul")
def product(a, b):
    return np.matmul(a, b)


@of("vdot")
def vdot(a, b):
    return np.matmul(a, b)


@of("addmm", "addmv", "baddbmm")
def add_product(c, a, b, *, beta=1, alpha=1):
    made = np.matmul(a, b)
    made = made if alpha == 1 else np.multiply(made, alpha)
    return made if beta == 0 else np.add(made, c if beta == 1 else np.multiply(c, beta))


@of("outer", "ger")
def outer(a, b):
    return np.outer(a, b)


@of("trace")
def trace(x):
    return np.trace(x)


@of("_linalg_svd")
def svd(a, full_matrices=False, compute_uv=True, *, driver=None):
    x = floating(a)
    vectors = Refused("singular vectors have no derivative here")
    return vectors, Singular(np.linalg.svd(x, compute_uv=False).node, x), vectors


@of("linalg_eig")
def eig(a):
    return np.linalg.eigvals(a), Refused("eigenvectors have no derivative here")


@of("linalg_eigvals", "_linalg_eigvals")
def eigvals(a):
    return np.linalg.eigvals(a)


@of("_linalg_eigh")
def eigh(a, UPLO="L", compute_v=True):
    """PyTorch reads one triangle but differentiates as if both were; a symmetric argument has the same derivative either way."""
    x = floating(a)
    half = np.swapaxes(x, -1, -2)
    return np.linalg.eigvalsh((x + half) * 0.5, UPLO), Refused("eigenvectors have no derivative here")


@of("_linalg_det")
def det(a):
    return np.linalg.det(a), Refused("the factors of a determinant"), Refused("the factors of a determinant")


@of("_linalg_slogdet")
def slogdet(a):
    sign, log = np.linalg.slogdet(a)
    return sign, log, Refused("the factors of a determinant"), Refused("the factors of a determinant")


@of("linalg_inv_ex")
def inv(a, *, check_errors=False):
    return np.linalg.inv(a), np.zeros((), dtype=np.int32)


@of("_linalg_solve_ex")
def solve(a, b, *, left=True, check_errors=False):
    made = np.linalg.solve(a, b) if left else np.transpose(np.linalg.solve(np.transpose(a), np.transpose(b)))
    return made, Refused("factors of a solve"), Refused("factors of a solve"), np.zeros((), dtype=np.int32)


@of("linalg_solve_triangular")
def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    """The other triangle is not looked at, so that it has no derivatives either."""
    part = np.triu(a, int(unitriangular)) if upper else np.tril(a, -int(unitriangular))
    return solve(part + np.eye(np.shape(a)[-1]) if unitriangular else part, b, left=left)[0]


@of("linalg_cholesky_ex")
def cholesky(a, *, upper=False, check_errors=False):
    g = graph_of(a)
    x = floating(a)
    made = np.linalg.cholesky((x + np.swapaxes(x, -1, -2)) * 0.5)
    return lift(g, made.T if upper else made), np.zeros((), dtype=np.int32)


TABLE["_linalg_check_errors"] = lambda info, name, *, is_matrix: None
