"""What normalising needs to know of each column: mean and deviation, median and quartiles."""
from __future__ import annotations

import hashlib
import json
import os

import numpy as np

from ..errors import ArgumentError
from ..progress import bar
from . import columns
from .split import write_json

VERSION = 1
#: Quartiles are those of all rows while an array has no more values than this, else of evenly spaced rows.
MOST_VALUES = 1 << 25
NORMAL_IQR = 1.3489795003921634  #: distance of the quartiles of the normal distribution of deviation 1


class Statistics(dict):
    """By array, "parameters" or a family: ``columns`` and, for each of them, ``count`` of finite values, ``mean``, ``std``, ``min``, ``max``,
    ``median``, ``q25``, ``q75`` and ``robust`` (the deviation that the quartiles of a normal distribution would have)."""

    def normalize(self, name, values, how="standard"):
        """(values - mean) / std, or for "robust" (values - median) / robust; columns that do not vary are only shifted."""
        if name not in self:
            raise ArgumentError(f"no statistics of {name!r}; finite are {', '.join(self)}")
        if how not in ("standard", "robust"):
            raise ArgumentError(f"how = {how!r}: expected 'standard' or 'robust'")
        center, scale = ("mean", "std") if how == "standard" else ("median", "robust")
        middle, width = (np.array([np.nan if v is None else v for v in self[name][field]], dtype=np.float64) for field in (center, scale))
        return ((np.asarray(values) - middle) / np.where(width > 0, width, 1.0)).astype(np.float32)

    def _repr_html_(self):
        from ..pages import statistics_page
        return statistics_page(self)


def statistics(dataset, rows=None, save=True, progress=None) -> Statistics:
    """Read from FILE.statistics.json where that has them for the same rows of the same file, else computed."""
    rows = None if rows is None else np.unique(dataset["/parameters/params"].chosen(rows))
    path, source = dataset.path + ".statistics.json", origin(dataset, rows)
    if found := stored(path, source):
        return found
    arrays = {"parameters": "/parameters/params", **columns.families(dataset)}
    made = Statistics()
    with bar(progress, "statistics", "array") as step:
        for done, (name, array) in enumerate(arrays.items(), 1):
            made[name] = {"columns": columns.column_names(dataset, array), **of_array(dataset[array], rows)}
            if step:
                step(done, len(arrays))
    if save:
        write_json(path, {"version": VERSION, "source": source, "arrays": made})
    return made


def origin(dataset, rows) -> dict:
    """What the numbers depend on."""
    info = dataset.info
    return {"file": os.path.basename(dataset.path), "rows": info["rows"], "file_bytes": info["file_bytes"], "status": info["status"], "seed": info["seed"],
            "config_sha256": hashlib.sha256(info["config"].encode()).hexdigest(), "engine_version": info["engine_version"],
            "of_rows": "all" if rows is None else len(rows), "of_rows_sha256": "" if rows is None else hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest()}


def stored(path, source):
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return Statistics(found["arrays"]) if found["version"] == VERSION and found["source"] == source else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def of_array(lazy, rows) -> dict:
    """Of each column over all other dimensions; numbers that are not finite are left out, None stands for what no number is left for."""
    every = max(1, -(-lazy.size // MOST_VALUES))
    n = lazy.shape[-1]
    count, mean, square, low, high, kept = np.zeros(n, np.int64), np.zeros(n), np.zeros(n), np.full(n, np.inf), np.full(n, -np.inf), []
    for first, block in lazy.blocks():
        numbers = np.arange(first, first + len(block))
        take = np.isin(numbers, rows) if rows is not None else np.ones(len(block), bool)
        kept.append(block[take & (numbers % every == 0)].reshape(-1, n))
        x = block[take].reshape(-1, n).astype(np.float64)
        x[~np.isfinite(x)] = np.nan
        count, mean, square = merged(count, mean, square, x)
        low, high = np.fmin(low, np.fmin.reduce(x, axis=0, initial=np.inf)), np.fmax(high, np.fmax.reduce(x, axis=0, initial=-np.inf))
    quartiles = np.array([quartiles_of(column) for column in np.concatenate(kept).T]).reshape(n, 3).T
    none = count == 0
    std = np.sqrt(square / np.maximum(count - 1, 1))
    table = {"mean": np.where(none, np.nan, mean), "std": np.where(none, np.nan, std), "min": np.where(none, np.nan, low), "max": np.where(none, np.nan, high),
             "q25": quartiles[0], "median": quartiles[1], "q75": quartiles[2], "robust": (quartiles[2] - quartiles[0]) / NORMAL_IQR}
    return {"count": count.tolist(), **{name: [None if np.isnan(v) else float(v) for v in values] for name, values in table.items()}}


def merged(count, mean, square, x):
    """Counts, means and sums of squares about the mean, with the rows of x added (Chan, Golub and LeVeque)."""
    finite = np.isfinite(x)
    n = finite.sum(axis=0)
    m = np.where(finite, x, 0.0).sum(axis=0) / np.maximum(n, 1)
    s = np.where(finite, x - m, 0.0)
    total = count + n
    delta = m - mean
    share = n / np.maximum(total, 1)
    return total, mean + delta * share, square + (s * s).sum(axis=0) + delta * delta * count * share


def quartiles_of(column):
    finite = column[np.isfinite(column)]
    return np.quantile(finite.astype(np.float64), (0.25, 0.5, 0.75)) if len(finite) else np.full(3, np.nan)
