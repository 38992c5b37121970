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
#: Closed files whose processes wait for a second: path -> Readers. Opening one of them again costs a message instead of a process.
MOST_RESTING = 2
_resting = {}


def open_readers(path):
    """Readers of a file: those that rest, where the file is what it was, or new ones."""
    kept = _resting.pop(path, None)
    return kept if kept is not None and kept.wake() else Readers(path)


class Readers:
    """The processes that have one file open: one from the start, more when a read is large. Used in the process that made it only."""

    def __init__(self, path):
        self.path, self.pid, self.used = path, os.getpid(), False
        self.files = [_core.DatasetFile(path)] + [None] * (MOST_READERS - 1)

    @property
    def first(self):
        return self.files[0]

    def read(self, path, first, n, integers, stored_bytes):
        """Rows first … first + n - 1, of which the file holds about so many bytes."""
        share, self.used = BYTES_PER_READER * (2 if self.used else 3) // 2, True  # one read alone has to pay for the start
        ways = max(1, min(stored_bytes // share, _core.get_threads(), MOST_READERS, n))
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

    def wake(self):
        """Whether the first process is there again; others that are not are started when they are needed."""
        if self.pid != os.getpid() or not self.first.wake():
            return False
        self.files[1:] = [file if file is not None and file.wake() else None for file in self.files[1:]]
        return True

    def close(self):
        """The processes rest; those that do not, and those of files closed longer ago, end."""
        if self.pid != os.getpid():
            return
        self.files[1:] = [file if file is not None and file.rest() else None for file in self.files[1:]]
        if not self.first.rest():
            self.end()
            return
        while len(_resting) >= MOST_RESTING:
            _resting.pop(next(iter(_resting))).end()
        if (older := _resting.pop(self.path, None)) is not None:
            older.end()
        _resting[self.path] = self

    def end(self):
        for file in self.files:
            if file is not None:
                file.close()
