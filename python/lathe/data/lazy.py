"""Arrays of a file that are read when they are indexed."""
from __future__ import annotations

import numpy as np

#: Rows of a list that lie no further apart are read in one piece: unpacking a few more is cheaper than asking again.
GAP_ROWS = 32


class LazyArray:
    """An array of the file under its own name. Indexing reads the rows it needs; np.asarray reads them all.

    Numbers come as float32 or int64. The first index may be an integer, a slice, or a list or array of integers or truths; the others
    are NumPy's.
    """

    def __init__(self, dataset, item):
        self.dataset, self.path, self.shape, self.stored, self.stored_bytes = dataset, item["path"], item["shape"], item["dtype"], item["stored_bytes"]
        self.dtype = np.dtype("int64") if np.dtype(self.stored).kind in "iub" else np.dtype("float32")
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape, dtype=np.int64))

    def __len__(self):
        return self.shape[0]

    def read(self, first, n):
        """Rows first … first + n - 1."""
        share = self.stored_bytes * n // len(self) if len(self) else 0
        return self.dataset._readers().read(self.path, first, n, self.dtype.kind == "i", share)

    def __getitem__(self, index):
        index, rest = (index[0], index[1:]) if isinstance(index, tuple) and index else (index, ())
        if index is Ellipsis or isinstance(index, tuple):
            return self.read(0, len(self))[(index, *rest)]
        if isinstance(index, slice):
            made = self.rows(range(*index.indices(len(self))))
        elif isinstance(index, (list, np.ndarray, range)) and np.ndim(index) == 1:
            made = self.rows(self.chosen(index))
        else:
            made = self.read(self.row(index), 1)[0]
            return made[rest] if rest else made
        return made[(slice(None), *rest)] if rest else made

    def row(self, i):
        i = int(i.__index__())
        if not -len(self) <= i < len(self):
            raise IndexError(f"{self.path}: row {i} of {len(self)}")
        return i % len(self)

    def chosen(self, index):
        """A list or mask as row numbers."""
        index = np.asarray(index)
        if index.dtype.kind == "b":
            if len(index) != len(self):
                raise IndexError(f"{self.path}: a mask of {len(index)} for {len(self)} rows")
            return np.flatnonzero(index)
        if index.size and index.dtype.kind not in "iu":
            raise IndexError(f"{self.path}: rows are integers or truths, not {index.dtype}")
        return [self.row(i) for i in index]

    def rows(self, which):
        """Any rows in any order, read in as few pieces as makes sense."""
        which = np.asarray(which, dtype=np.int64)
        if not len(which):
            return np.empty((0, *self.shape[1:]), self.dtype)
        wanted, back = np.unique(which, return_inverse=True)
        runs = np.split(wanted, np.flatnonzero(np.diff(wanted) > GAP_ROWS) + 1)
        pieces = [self.read(int(run[0]), int(run[-1] - run[0]) + 1) for run in runs]
        pieces = [p if len(p) == len(run) else p[run - run[0]] for p, run in zip(pieces, runs)]
        made = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        return made if np.array_equal(which, wanted) else made[back]

    def blocks(self, bytes_at_once=16 << 20):
        """(first row, rows) one after the other, of about so many bytes."""
        row_bytes = max(1, self.size // max(1, len(self)) * self.dtype.itemsize)
        step = max(1, bytes_at_once // row_bytes)
        return ((first, self.read(first, min(step, len(self) - first))) for first in range(0, len(self), step))

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError(f"{self.path}: an array of a file cannot be had without a copy")
        made = self.read(0, len(self))
        return made if dtype is None else made.astype(dtype, copy=False)

    def __iter__(self):
        return (row for _, block in self.blocks() for row in block)

    def __repr__(self):
        return f"<{self.path} {self.shape} {self.dtype}>"

    def _repr_html_(self):
        return f"<code>{self.path}</code>: {' × '.join(map(str, self.shape))} {self.dtype}, {self.stored_bytes:,} bytes in the file"
