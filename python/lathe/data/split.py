"""Training, validation and test rows by a rule that anyone can repeat."""
from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

import numpy as np

from ..errors import ArgumentError, FileError, FormatError

@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers, ascending: int64 arrays train, val and test."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray
    seed: int = 0
    rule: str = field(default="", repr=False)

    def __iter__(self):
        return iter((self.train, self.val, self.test))

    def __repr__(self):
        return f"Split(train {len(self.train)}, val {len(self.val)}, test {len(self.test)} rows, seed {self.seed})"

    def _repr_html_(self):
        rows = "".join(f"<tr><th>{name}</th><td>{len(part)}</td></tr>" for name, part in zip(("train", "val", "test"), self))
        return f"<table><caption>seed {self.seed}: {self.rule}</caption>{rows}</table>"


def are_counts(parts) -> bool:
    """Whole numbers are counts of rows, others shares."""
    return all(isinstance(p, (int, np.integer)) and not isinstance(p, bool) for p in parts)


def split(dataset, parts, seed, status, stratify, save) -> Split:
    """By the library, as ``lathe split``."""
    from .columns import STATUS
    wanted = [status] if isinstance(status, str) else list(status)
    if unknown := set(wanted) - set(STATUS):
        raise ArgumentError(f"status {min(unknown)!r}: expected some of {', '.join(STATUS)}")
    bits = sum(1 << STATUS.index(word) for word in set(wanted))
    train, val, test, rule = dataset._readers().first.split(*map(float, parts), are_counts(parts), int(seed), bits, bool(stratify), bool(save))
    return Split(np.asarray(train), np.asarray(val), np.asarray(test), int(seed), rule)


def stored(dataset, path=None) -> Split:
    """What ``lathe split`` or ``split(save=True)`` wrote."""
    path = dataset.path + ".split.json" if path is None else os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        parts = [np.asarray(found[name], dtype=np.int64) for name in ("train", "val", "test")]
        rows, seed, rule = int(found["rows"]), int(found["seed"]), str(found["rule"])
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}; 'lathe split' or split(save=True) writes it") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: is not a split of rows") from error
    if rows != len(dataset) or any(p.ndim != 1 or (len(p) and (p.min() < 0 or p.max() >= rows)) for p in parts):
        raise FormatError(f"{path}: is of {rows} rows, {dataset.path} has {len(dataset)}")
    return Split(*parts, seed, rule)


def write_json(path, content):
    """Whole or not at all."""
    part = path + ".part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, allow_nan=False)
            file.write("\n")
        os.replace(part, path)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}; save=False keeps results out of files") from error
