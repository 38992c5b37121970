"""Operator datasets: making, replaying and reading them."""
from __future__ import annotations

import difflib
import json
import os
import tempfile
import warnings

import numpy as np

from . import _core
from .data.lazy import LazyArray
from .data.readers import Readers, open_readers
from .errors import ArgumentError
from .progress import bar


def generate(config, output=None, *, resume=False, overwrite=False, device=None, threads=0, progress=None, **overrides) -> dict:
    """Makes a dataset; config is a YAML file or a dict. Returns the statistics of the run.

    overrides: sections or keys deep-merged onto the configuration: ``sampling={"total_samples": 8}``.
    What the library warns of (unknown keys, with the nearest known one) comes as warnings of Python, too.
    Ctrl-C ends the run; the file can be resumed, and KeyboardInterrupt has the statistics so far as its ``partial``.
    """
    path, text = (None, None)
    if isinstance(config, dict):
        text = json.dumps(merged(config, overrides))
        path = "config"
    else:
        path = os.fspath(config)
    with bar(progress, "generate", "operator") as step, merge_file(None if text else overrides) as merge:
        made = _core.generate(path, text=text, output=None if output is None else os.fspath(output), merge=merge, device=device, worker=worker(),
                              resume=resume, overwrite=overwrite, threads=threads, progress=step)
    for text in made["warnings"]:
        warnings.warn(text, stacklevel=2)
    return made


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


class Dataset:
    """A dataset file, read lazily: ``d["/features/…"]`` is an array of the file under its own name.

    ``len(d)`` counts operators; ``d[3]``, ``d[2:5]`` and iteration give dicts of what the file has of them. Picklable, and safe to use after
    a fork: the file is opened again in each process. Several threads may read.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        self._forget()
        self._readers()

    def _forget(self):
        self._open, self._items, self._texts = None, None, {}

    def _readers(self) -> Readers:
        if self._open is None or self._open.pid != os.getpid():
            self._open = open_readers(self.path)
        return self._open

    @property
    def info(self) -> dict:
        """Sizes and metadata of the file."""
        return self._readers().first.info

    # ---- Arrays ----------------------------------------------------------------------------------------------------------------------
    def items(self) -> list[dict]:
        """Every group and array: path, dtype, shape, compression, stored bytes."""
        return list(self._by_path().values())

    def _by_path(self) -> dict[str, dict]:
        if self._items is None:
            self._items = {i["path"]: i for i in self._readers().first.items()}
        return self._items

    def item(self, path) -> dict | None:
        """What ``items`` says of one group or array."""
        return self._by_path().get("/" + str(path).strip("/"))

    def keys(self) -> list[str]:
        """Paths of the arrays."""
        return [i["path"] for i in self.items() if not i["group"]]

    def array_path(self, name) -> str:
        """Path of an array by its path, by "parameters", "inputs" or "outputs", or by its family of features."""
        from .data.columns import families
        short = {"parameters": "/parameters/params", "inputs": "/inputs/fields", "outputs": "/outputs/fields", **families(self)}
        path = short.get(str(name), "/" + str(name).strip("/"))
        if (found := self.item(path)) is None or found["group"]:
            raise ArgumentError(f"{self.path}: no array {name!r}; it has {', '.join(k for k, p in short.items() if self.item(p))} and the paths of keys()")
        return path

    def __getitem__(self, key):
        if isinstance(key, str):
            found = self.item(key)
            if found is None or found["group"]:
                near = difflib.get_close_matches(key, self.keys(), 1)
                raise KeyError(f"{self.path} has no array '{key}'" + (f": did you mean '{near[0]}'?" if near else ""))
            return self.texts(found["path"]) if found["dtype"] == "text" else LazyArray(self, found)
        if isinstance(key, slice):
            return {path: self[path][key] for path in self._by_operator()}
        if not -len(self) <= int(key) < len(self):
            raise IndexError(f"operator {key} of {len(self)}")
        return {path: self[path][int(key) % len(self)] for path in self._by_operator()}

    def _by_operator(self):
        """Arrays with one row per operator."""
        n = len(self)
        return [i["path"] for i in self.items() if not i["group"] and i["shape"][:1] == (n,)]

    def texts(self, path) -> list[str]:
        """Labels, or an attribute 'path@name'; [] where there is none."""
        if path not in self._texts:
            self._texts[path] = self._readers().first.texts(path)
        return self._texts[path]

    def __len__(self):
        return self.info["rows"]

    def __iter__(self):
        paths, n = self._by_operator(), len(self)
        row_bytes = sum(a.size // n * a.dtype.itemsize for p in paths if isinstance(a := self[p], LazyArray))
        step = max(1, (16 << 20) // max(1, row_bytes))
        for first in range(0, n, step):
            block = self[first:first + step]
            yield from ({path: values[i] for path, values in block.items()} for i in range(min(step, n - first)))

    def __contains__(self, key):
        return self.item(key) is not None

    # ---- As tables and tensors -------------------------------------------------------------------------------------------------------
    def families(self) -> list[str]:
        """Families of features: "summary" (aggregated over realizations), "summary.per_trajectory", "temporal", …"""
        from .data.columns import families
        return list(families(self))

    def features(self, family="summary", rows=None, *, frame=False):
        """Features with column names: a structured array, ``f["energy_growth_rate_mean"]``, or with frame=True a pandas DataFrame.

        rows: a slice, list or mask; None for all. Families with a value per step or realization have a second dimension, or in a frame a
        second level of the index. The numbers of a structured array as a plain one: numpy.lib.recfunctions.structured_to_unstructured.
        """
        from .data.tables import features
        return features(self, family, rows, frame)

    def to_pandas(self, *, unit=False):
        """One row per operator: parameters by value (unit=True: as stored, in [0, 1]), features, labels and status."""
        from .data.tables import to_pandas
        return to_pandas(self, unit)

    def to_parquet(self, path, *, unit=False, **options):
        """The table of to_pandas as a Parquet file (pyarrow); options are those of DataFrame.to_parquet."""
        from .data.tables import to_parquet
        to_parquet(self, path, unit, **options)

    def to_xarray(self, arrays=None):
        """An xarray.Dataset in memory, with named dimensions and columns: these arrays, or all but stored states."""
        from .data.tables import to_xarray
        return to_xarray(self, arrays)

    def to_zarr(self, path, arrays=None, *, progress=None):
        """A new Zarr group with the names of the file: these arrays, or all but stored states."""
        from .data.tables import to_zarr
        to_zarr(self, path, arrays, progress)

    def torch(self, *arrays, rows=None, normalize=None, transform=None):
        """A torch.utils.data.Dataset of these arrays, by path or family; parameters and summary features where none is named.

        rows: those of a split, say; None for all. normalize: "standard" or "robust", by the statistics of these rows, for arrays with
        columns; a Statistics for those of other rows. transform: a function of each sample.
        """
        try:
            from .data.torch import TorchDataset
        except ImportError as error:
            raise ImportError("Dataset.torch needs torch: pip install torch") from error
        paths = [self.array_path(name) for name in arrays or ("parameters", "summary")]
        if texts := [p for p in paths if self.item(p)["dtype"] == "text"]:
            raise ArgumentError(f"{texts[0]} holds texts, which are no tensor")
        chosen = np.arange(len(self)) if rows is None else np.asarray(self["/parameters/params"].chosen(rows), dtype=np.int64)
        return TorchDataset(self, paths, chosen, transform, *self._normalizing(normalize, rows))

    def _normalizing(self, normalize, rows):
        """(statistics, their names by path) and how, or None and ""."""
        if normalize is None:
            return None, ""
        from .data.columns import families
        names = {path: name for name, path in {"parameters": "/parameters/params", **families(self)}.items()}
        if isinstance(normalize, str):
            if normalize not in ("standard", "robust"):
                raise ArgumentError(f"normalize = {normalize!r}: expected 'standard', 'robust' or a Statistics")
            return (self.statistics(rows, save=False), names), normalize
        return (normalize, names), "standard"

    # ---- About it --------------------------------------------------------------------------------------------------------------------
    def split(self, train=0.8, val=0.1, test=0.1, *, seed=0, status=("done",), stratify=False, save=False):
        """Rows for training, validation and test: shares of the rows with this status, or counts; as ``lathe split``.

        The rule: rows in the order of SHA-256("lathe split SEED ROW"), cut in this order; the same on every machine. stratify=True gives each
        part its share of every architecture and initial field. save=True writes it beside the file, as FILE.split.json.
        """
        from .data import split
        return split.split(self, (train, val, test), seed, status, stratify, save)

    def stored_split(self, path=None):
        """The split that ``lathe split`` or ``split(save=True)`` wrote: FILE.split.json, or this file."""
        from .data import split
        return split.stored(self, path)

    def statistics(self, rows=None, *, save=True, progress=None):
        """Mean, deviation, quartiles and robust deviation of each column of parameters and features, over these rows (None: all).

        Kept beside the file as FILE.statistics.json and read from there while file and rows are the same; save=False keeps them out of it.
        """
        from .data.statistics import statistics
        return statistics(self, rows, save, progress)

    def card(self, path=None, *, checksum=True, license=None):
        """The dataset described in Markdown, from its own metadata, as ``lathe card``; with a path also written there.

        checksum=False leaves out the SHA-256, for which the whole file is read. license: instead of metadata.license.
        """
        from .data.card import card
        made = card(self, checksum, license)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
        return made

    def close(self):
        if self._open is not None and self._open.pid == os.getpid():
            self._open.close()
        self._open = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._forget()

    def __repr__(self):
        i = self.info
        return f"Dataset({self.path!r}: {i['rows']} operators, {i['realizations']} realizations of {i['steps']} steps)"

    def _repr_html_(self):
        from .pages import dataset_page
        return dataset_page(self)
