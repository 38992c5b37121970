"""Operator datasets: making, replaying and reading them."""
from __future__ import annotations

import json
import os
import tempfile

import numpy as np

from . import _core
from .errors import ArgumentError
from .progress import bar


def generate(config, output=None, *, resume=False, overwrite=False, device=None, threads=0, progress=None, **overrides) -> dict:
    """Makes a dataset; config is a YAML file or a dict. Returns the statistics of the run.

    overrides: sections or keys deep-merged onto the configuration: ``sampling={"total_samples": 8}``.
    Ctrl-C ends the run; the file can be resumed, and KeyboardInterrupt has the statistics so far as its ``partial``.
    """
    path, text = (None, None)
    if isinstance(config, dict):
        text = json.dumps(merged(config, overrides))
        path = "config"
    else:
        path = os.fspath(config)
    with bar(progress, "generate", "operator") as step, merge_file(None if text else overrides) as merge:
        return _core.generate(path, text=text, output=None if output is None else os.fspath(output), merge=merge, device=device, worker=worker(),
                              resume=resume, overwrite=overwrite, threads=threads, progress=step)


def worker():
    """The command, as the process in which rollouts run where a watchdog is asked for; None where there is none."""
    from .__main__ import command
    try:
        return command()
    except SystemExit:
        return None


def merged(base: dict, over: dict) -> dict:
    """over deep-merged onto base."""
    made = dict(base)
    for key, value in over.items():
        made[key] = merged(made[key], value) if isinstance(value, dict) and isinstance(made.get(key), dict) else value
    return made


class merge_file:
    """Overrides as a file that the library merges, removed afterwards; None where there are none."""

    def __init__(self, overrides):
        self.overrides, self.path = overrides, None

    def __enter__(self):
        if self.overrides:
            handle, self.path = tempfile.mkstemp(suffix=".yaml", prefix="lathe-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self.overrides, file)
        return self.path

    def __exit__(self, *unused):
        if self.path:
            os.unlink(self.path)


def replay(path, row: int, *, realization=None, device="cpu", weights_out=None) -> dict:
    """The states of a stored operator again, bit for bit: ``states`` is (steps, realizations, 3, grid, grid), float32."""
    with Dataset(path) as data:
        info = data.info
        if not info["engine_version"]:
            raise ArgumentError(f"{path}: lathe did not write this file; the weights and noise of its operators are not known")
        if not 0 <= row < info["rows"]:
            raise ArgumentError(f"row {row}: expected 0..{info['rows'] - 1}")
        return _core.replay(info["config"], os.fspath(path), int(row), realization=-1 if realization is None else int(realization),
                            precision=info["precision"], device=device, weights_out=None if weights_out is None else os.fspath(weights_out))


class LazyArray:
    """An array of the file, read when it is indexed. np.asarray reads it all."""

    def __init__(self, dataset, path, shape, dtype):
        self.dataset, self.path, self.shape, self.stored = dataset, path, shape, dtype
        self.dtype = np.dtype("int64") if np.dtype(dtype).kind in "iub" else np.dtype("float32")
        self.ndim, self.size = len(shape), int(np.prod(shape, dtype=np.int64))

    def __len__(self):
        return self.shape[0]

    def read(self, first, n):
        return self.dataset._file().read(self.path, first, n, self.dtype.kind == "i")

    def __getitem__(self, index):
        rest = ()
        if isinstance(index, tuple):
            index, rest = index[0], index[1:]
        if index is Ellipsis:
            return self.read(0, len(self))[(Ellipsis, *rest)]
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            rows = range(start, stop, step)
            if not len(rows):
                return np.empty((0, *self.shape[1:]), self.dtype)[(slice(None), *rest)]
            low, high = min(rows[0], rows[-1]), max(rows[0], rows[-1])
            made = self.read(low, high - low + 1)
            made = made[::step] if step > 0 else made[::-1][::-step]
            return made[(slice(None), *rest)] if rest else made
        if isinstance(index, (list, np.ndarray)):
            which = np.asarray(index)
            which = np.flatnonzero(which) if which.dtype.kind == "b" else which
            made = np.stack([self.read(self.row(i), 1)[0] for i in which]) if len(which) else np.empty((0, *self.shape[1:]), self.dtype)
            return made[(slice(None), *rest)] if rest else made
        made = self.read(self.row(index), 1)[0]
        return made[rest] if rest else made

    def row(self, i):
        i = int(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"row {i} of {len(self)}")
        return i % len(self)

    def __array__(self, dtype=None, copy=None):
        made = self.read(0, len(self))
        return made if dtype is None else made.astype(dtype)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"<{self.path} {self.shape} {self.dtype}>"


class Dataset:
    """A dataset file, read lazily: ``d["/features/…"]`` is an array of the file under its own name. ``len(d)`` counts operators.

    Picklable, and safe to use after a fork: the file is opened again in each process.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        self._handle, self._pid, self._items = None, None, None
        self._file()

    def _file(self):
        if self._handle is None or self._pid != os.getpid():
            self._handle, self._pid = _core.DatasetFile(self.path), os.getpid()
        return self._handle

    @property
    def info(self) -> dict:
        """Sizes and metadata of the file."""
        return self._file().info

    def items(self) -> list[dict]:
        """Every group and array: path, dtype, shape, compression, stored bytes."""
        if self._items is None:
            self._items = self._file().items()
        return self._items

    def keys(self) -> list[str]:
        """Paths of the arrays."""
        return [i["path"] for i in self.items() if not i["group"]]

    def __getitem__(self, key):
        if isinstance(key, str):
            found = next((i for i in self.items() if i["path"].strip("/") == key.strip("/") and not i["group"]), None)
            if found is None:
                raise KeyError(key)
            return self.texts(found["path"]) if found["dtype"] == "text" else LazyArray(self, found["path"], found["shape"], found["dtype"])
        if not -len(self) <= int(key) < len(self):
            raise IndexError(f"operator {key} of {len(self)}")
        row = int(key) % len(self)
        return {path: self[path][row] for path in self.keys() if (i := self._item(path)) and i["shape"] and i["shape"][0] == len(self)}

    def _item(self, path):
        return next((i for i in self.items() if i["path"] == path), None)

    def texts(self, path) -> list[str]:
        """Labels, or an attribute 'path@name'."""
        return self._file().texts(path)

    def __len__(self):
        return self.info["rows"]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __contains__(self, key):
        return any(i["path"].strip("/") == str(key).strip("/") for i in self.items())

    def close(self):
        if self._handle is not None and self._pid == os.getpid():
            self._handle.close()
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, state):
        self.__dict__.update(state, _handle=None, _pid=None, _items=None)

    def __repr__(self):
        i = self.info
        return f"Dataset({self.path!r}: {i['rows']} operators, {i['realizations']} realizations of {i['steps']} steps)"

    def _repr_html_(self):
        from .pages import dataset_page
        return dataset_page(self)
