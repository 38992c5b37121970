"""Training, validation and test rows by a rule that anyone can repeat."""
from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field

import numpy as np

from ..errors import ArgumentError, FileError

RULE = ("rows in the order of SHA-256('lathe split SEED ROW'), ROW the number of the operator in the whole dataset; "
        "the first are for training, then validation, then test")


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers, ascending: int64 arrays train, val and test."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray
    seed: int = 0
    rule: str = field(default=RULE, repr=False)

    def __iter__(self):
        return iter((self.train, self.val, self.test))

    def __repr__(self):
        return f"Split(train {len(self.train)}, val {len(self.val)}, test {len(self.test)} rows, seed {self.seed})"

    def _repr_html_(self):
        rows = "".join(f"<tr><th>{name}</th><td>{len(part)}</td></tr>" for name, part in zip(("train", "val", "test"), self))
        return f"<table><caption>seed {self.seed}: {self.rule}</caption>{rows}</table>"


def key(seed, row) -> bytes:
    return hashlib.sha256(f"lathe split {seed} {row}".encode()).digest()


def counts(n, parts) -> list[int]:
    """Sizes of the parts: shares of n that add up to their total's share, rounded down and the rest to the largest remainders; or counts."""
    if all(isinstance(p, (int, np.integer)) and not isinstance(p, bool) for p in parts):
        if min(parts) < 0 or sum(parts) > n:
            raise ArgumentError(f"split {tuple(parts)}: expected counts that add up to {n} rows at most")
        return [int(p) for p in parts]
    if not all(np.isfinite(p) and p >= 0 for p in parts) or sum(parts) > 1 + 1e-9 or sum(parts) == 0:
        raise ArgumentError(f"split {tuple(parts)}: expected shares that add up to 1 at most, or three counts")
    exact = [p * n for p in parts]
    sizes = [int(x + 1e-9) for x in exact]
    for i in sorted(range(len(parts)), key=lambda i: sizes[i] - exact[i])[:round(sum(exact)) - sum(sizes)]:
        sizes[i] += 1
    return sizes


def split(dataset, train, val, test, seed, status) -> Split:
    from .columns import STATUS, status_words
    wanted = [status] if isinstance(status, str) else list(status)
    if unknown := set(wanted) - set(STATUS):
        raise ArgumentError(f"status {min(unknown)!r}: expected some of {', '.join(STATUS)}")
    rows = np.flatnonzero(np.isin(status_words(dataset), wanted))
    numbers = np.asarray(dataset["/status/row"]) if "/status/row" in dataset else np.arange(len(dataset))
    ordered = np.array(sorted(rows, key=lambda r: key(seed, int(numbers[r]))), dtype=np.int64)
    sizes = counts(len(ordered), (train, val, test))
    cuts = np.cumsum([0, *sizes])
    return Split(*(np.sort(ordered[cuts[i]:cuts[i + 1]]) for i in range(3)), seed=seed)


def save(dataset, made: Split) -> str:
    """Beside the file, as FILE.split.json."""
    path = dataset.path + ".split.json"
    write_json(path, {"dataset": os.path.basename(dataset.path), "rows": len(dataset), "seed": made.seed, "rule": made.rule,
                      **{name: part.tolist() for name, part in zip(("train", "val", "test"), made)}})
    return path


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
