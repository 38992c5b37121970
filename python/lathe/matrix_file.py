"""Rows of a Gram matrix that lies in a file, as ``lathe gram --out`` and ``mpirun -n N lathe gram`` leave it."""
from __future__ import annotations

import math

import numpy as np

from .errors import FormatError, ShapeError


class GramFile:
    """A Gram matrix in a ``.npy`` file, whole or the packed upper half, of which rows are read as they are asked for: ``file[i]``, ``file[a:b]``.

    Nothing else comes into memory. The entries are a memory map (``file.entries``); of a whole matrix ``numpy.load(path, mmap_mode="r")`` does as well.

    >>> import lathe, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "K.npy")
    >>> X = np.linspace(0, 1, 8).reshape(4, 2)
    >>> np.save(path, lathe.gram(X, weights=np.zeros((1, 2)), packed=True))
    >>> K = lathe.GramFile(path)
    >>> K.shape, K.packed, bool((K[1:3] == lathe.gram(X, weights=np.zeros((1, 2)))[1:3]).all())
    ((4, 4), True, True)
    """

    def __init__(self, path):
        self.entries = np.load(path, mmap_mode="r")
        if self.entries.dtype not in (np.float64, np.float32):
            raise FormatError(f"{path}: holds {self.entries.dtype}, expected float64 or float32")
        self.packed = self.entries.ndim == 1
        count = len(self.entries) if self.entries.ndim else 0
        n = (math.isqrt(8 * count + 1) - 1) // 2 if self.packed else count
        if self.entries.ndim not in (1, 2) or (self.packed and n * (n + 1) // 2 != count):
            raise FormatError(f"{path}: has shape {self.entries.shape}, expected a matrix, or n (n + 1) / 2 entries of the upper half of one")
        self.path, self.shape, self.dtype = path, (n, n) if self.packed else self.entries.shape, self.entries.dtype

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows) -> np.ndarray:
        if isinstance(rows, slice):
            first, end, step = rows.indices(len(self))
            if step != 1:
                raise ShapeError(f"rows {rows}: expected a block of rows, one after the other")
            return self._block(first, max(first, end))
        row = rows.__index__()
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self._block(row % len(self), row % len(self) + 1)[0]

    def blocks(self, rows=4096):
        """Pairs of the first row's number and a block of rows, all through the matrix."""
        for first in range(0, len(self), rows):
            yield first, self[first:first + rows]

    def _block(self, first, end):
        if not self.packed:
            return np.array(self.entries[first:end])
        n, out = len(self), np.empty((end - first, len(self)), self.dtype)
        starts = np.arange(n, dtype=np.int64) * n - np.arange(n, dtype=np.int64) * np.arange(-1, n - 1, dtype=np.int64) // 2  # of row j, at its diagonal
        for j in range(first):  # what lies left of the diagonal stands in the rows above
            out[:, j] = self.entries[starts[j] + first - j:starts[j] + end - j]
        for i in range(first, end):
            out[i - first, i:] = self.entries[starts[i]:starts[i] + n - i]
            out[i - first:, i] = out[i - first, i:end]
        return out

    def __repr__(self):
        return f"GramFile({str(self.path)!r}, {self.shape[0]} x {self.shape[1]}, {self.dtype}{', packed' if self.packed else ''})"


__all__ = ["GramFile"]
