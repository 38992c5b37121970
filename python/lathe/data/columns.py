"""Names of columns, families of features, and parameters as values instead of numbers of the unit cube."""
from __future__ import annotations

import json

import numpy as np

from ..errors import ArgumentError

#: Words of /status/code, in its order.
STATUS = ("pending", "done", "non-finite", "failed", "lost")
#: Second dimension of the families that have one between operator and column.
INNER = {"temporal": "step", "summary.per_trajectory": "realization"}


def families(dataset) -> dict[str, str]:
    """Family of features -> path of its array: "summary" is the aggregated one, "summary.per_trajectory" and others go by their group."""
    found = {}
    for path in dataset.keys():
        parts = path.strip("/").split("/")
        if parts[0] == "features" and parts[-1] == "features" and len(dataset[path].shape) > 1:
            found[".".join(p for p in parts[1:-1] if p != "aggregated")] = path
    return found


def family_path(dataset, family) -> str:
    """The array of a family by its name, or by its path."""
    known = families(dataset)
    if family in known:
        return known[family]
    path = "/" + str(family).strip("/")
    if path in known.values():
        return path
    raise ArgumentError(f"{dataset.path}: no features {family!r}; it has {', '.join(known) or 'none'}")


def column_names(dataset, path) -> list[str]:
    """Names of the last dimension of an array: the file's, or numbered ones where it has none. No name occurs twice."""
    n = dataset[path].shape[-1]
    names = dataset.texts("/parameters@dimension_names") if path == "/parameters/params" else []
    names = names or dataset.texts(path + "@column_names") or dataset.texts(path + "@feature_names")
    if len(names) != n or len(set(names)) != n:
        names = [f"{path.strip('/').split('/')[1]}_{i}" for i in range(n)]
    return list(names)


def specs(dataset) -> list[tuple[str, dict]]:
    """(name, spec) of each parameter in the order of the columns, from the stored configuration; [] where that does not fit the file."""
    try:
        space = json.loads(dataset.info["config"])["parameter_space"]
        found = [(name, spec) for group in ("architecture", "stochastic", "operator", "evolution") for name, spec in (space.get(group) or {}).items()]
        afno = space.get("u_afno") or {}
        found += [(name, afno[name]) for name in ("modes", "hidden_dim", "encoder_levels", "afno_blocks", "blocks_per_level") if name in afno]
    except (ValueError, KeyError, AttributeError, TypeError):
        return []
    return found if len(found) == dataset.info["parameters"] and all(isinstance(s, dict) and "type" in s for _, s in found) else []


def mapped(spec: dict, u):
    """Numbers of the unit interval as values of a parameter."""
    u, kind = np.asarray(u, dtype=np.float64), spec["type"]
    if kind == "boolean":
        return u > 0.5
    if kind == "choice":
        return choice(spec["choices"], spec.get("weights"), u)
    low, high = map(float, spec["bounds"])
    if kind == "integer":
        return np.rint(low + u * (high - low)).astype(np.int64)
    if spec.get("log_scale"):
        return 10.0 ** (np.log10(low) + u * (np.log10(high) - np.log10(low)))
    return low + u * (high - low)


def choice(choices, weights, u):
    last = len(choices) - 1
    if weights is None:
        index = np.minimum((u * len(choices)).astype(np.int64), last)
    else:
        index = np.minimum(np.searchsorted(np.cumsum(weights), u, side="right"), last)
    return np.array(choices, dtype=None if len({type(c) for c in choices}) == 1 else object)[index]


def parameters(dataset, unit=False) -> dict[str, np.ndarray]:
    """Each parameter by name: its values, or with unit=True (and where the file's configuration is not known) the stored numbers in [0, 1]."""
    stored = np.asarray(dataset["/parameters/params"])
    known = [] if unit else specs(dataset)
    if known:
        return {name: mapped(spec, stored[:, i]) for i, (name, spec) in enumerate(known)}
    return {name: stored[:, i] for i, name in enumerate(column_names(dataset, "/parameters/params"))}


def status_words(dataset) -> np.ndarray:
    """How each row ended; "done" in files that do not say."""
    if "/status/code" not in dataset:
        return np.full(len(dataset), "done")
    codes = np.asarray(dataset["/status/code"])
    return np.array([*STATUS, "unknown"])[np.minimum(codes, len(STATUS))]
