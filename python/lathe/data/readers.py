"""Reading a file by several processes at once.

The library reads a dataset in a process of its own, so that no damaged file can bring this one down. One such process unpacks one chunk at
a time; large reads are cut into ranges of rows, one for each of several processes.
"""
from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .. import _core

#: A further process is worth its start (3 ms, while the first one reads) from so many stored bytes on, which take 10 ms to unpack (decision 291).
BYTES_PER_READER = 2 << 20
MOST_READERS = 8


class Readers:
    """The processes that have one file open: one from the start, more when a read is large. Used in the process that made it only."""

    def __init__(self, path):
        self.path, self.pid = path, os.getpid()
        self.files = [_core.DatasetFile(path)] + [None] * (MOST_READERS - 1)

    @property
    def first(self):
        return self.files[0]

    def read(self, path, first, n, integers, stored_bytes):
        """Rows first … first + n - 1, of which the file holds about so many bytes."""
        ways = max(1, min(stored_bytes // BYTES_PER_READER, _core.get_threads(), MOST_READERS, n))
        if ways == 1:
            return self.first.read(path, first, n, integers)
        cuts = [first + n * i // ways for i in range(ways + 1)]
        head = self.first.read(path, first, 0, integers)
        made = np.empty((n, *head.shape[1:]), head.dtype)

        def part(i):
            self.file(i).read(path, cuts[i], cuts[i + 1] - cuts[i], integers, made[cuts[i] - first:cuts[i + 1] - first])
        with ThreadPoolExecutor(ways) as pool:
            list(pool.map(part, range(ways)))
        return made

    def file(self, i):
        """Reader i, opened when it is first needed."""
        if self.files[i] is None:
            self.files[i] = _core.DatasetFile(self.path)
        return self.files[i]

    def close(self):
        for file in self.files:
            if file is not None:
                file.close()
