"""Features and whole datasets in the forms that other packages read."""
from __future__ import annotations

import contextlib
import importlib
import os
import shutil

import numpy as np

from ..errors import FileError
from ..progress import bar
from . import columns


def package(name, purpose):
    """A package that is imported on first use; where it is missing, a sentence that names it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {name}: pip install {name}") from error


def features(dataset, family="summary", rows=None, frame=False):
    """Features by column name; see Dataset.features."""
    path = columns.family_path(dataset, family)
    names = columns.column_names(dataset, path)
    lazy = dataset[path]
    values = np.ascontiguousarray(np.asarray(lazy) if rows is None else lazy[rows])
    if not frame:
        return values.view(np.dtype([(name, values.dtype) for name in names]))[..., 0]
    pandas = package("pandas", "features(frame=True)")
    operators = np.arange(len(lazy))[slice(None) if rows is None else rows]
    if values.ndim == 2:
        return pandas.DataFrame(values, columns=names, index=pandas.Index(operators, name="operator"))
    inner = next((word for name, word in columns.INNER.items() if columns.families(dataset).get(name) == path), "entry")
    index = pandas.MultiIndex.from_product([operators, range(values.shape[1])], names=["operator", inner])
    return pandas.DataFrame(values.reshape(-1, values.shape[-1]), columns=names, index=index)


def one_per_operator(dataset, unit=False) -> dict[str, np.ndarray]:
    """The columns of the table: parameters, families with one row per operator, labels and status, as 'group.name'."""
    table = {f"parameters.{name}": values for name, values in columns.parameters(dataset, unit).items()}
    for family, path in columns.families(dataset).items():
        if dataset[path].ndim == 2:
            values = np.asarray(dataset[path])
            table.update({f"{family}.{name}": values[:, i] for i, name in enumerate(columns.column_names(dataset, path))})
    for path in dataset.keys():
        group, _, name = path.strip("/").partition("/")
        if group in ("metadata", "status") and dataset.item(path)["shape"] == (len(dataset),):
            table[f"{group}.{name}"] = np.asarray(dataset[path])
    table["status"] = columns.status_words(dataset)
    return table


def to_pandas(dataset, unit=False):
    pandas = package("pandas", "to_pandas")
    return pandas.DataFrame(one_per_operator(dataset, unit), index=pandas.RangeIndex(len(dataset), name="operator"))


def to_parquet(dataset, path, unit=False, **options):
    package("pyarrow", "to_parquet")
    table = to_pandas(dataset, unit)
    with whole(path) as part:
        table.to_parquet(part, engine="pyarrow", **options)


@contextlib.contextmanager
def whole(path):
    """A name beside the path to write under; what is there takes its place in the end, or is removed after a failure."""
    part = f"{os.fspath(path)}.part"
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        if os.path.isdir(part):
            shutil.rmtree(part)
        elif os.path.exists(part):
            os.unlink(part)
        raise


def dimensions(dataset, path) -> list[str]:
    """Names of the dimensions of an array: those of columns belong to their array."""
    lazy = dataset[path]
    if path == "/inputs/fields":
        return ["operator", "channel", "y", "x"]
    if path == "/outputs/fields":
        return ["operator", "realization", "step", "channel", "y", "x"] if lazy.ndim == 6 else ["operator", "realization", "channel", "y", "x"]
    if path == "/parameters/params":
        return ["operator", "parameter"]
    family = next((name for name, known in columns.families(dataset).items() if known == path), None)
    if family is None:
        return ["operator"] + [f"{path}_{k}" for k in range(1, lazy.ndim)]
    return ["operator", columns.INNER[family], f"{family}.column"] if family in columns.INNER and lazy.ndim == 3 else \
        ["operator"] + [f"{family}.{k}" for k in range(1, lazy.ndim - 1)] + [f"{family}.column"]


def chosen_arrays(dataset, arrays):
    """Paths of these arrays; without a choice all that have a row per operator but the stored states, which are too large for most uses."""
    paths = [p for p in dataset.keys() if dataset.item(p)["shape"][:1] == (len(dataset),)]
    if arrays is None:
        return [p for p in paths if p != "/outputs/fields"]
    return [dataset.array_path(name) for name in arrays]


def to_xarray(dataset, arrays=None):
    xarray = package("xarray", "to_xarray")
    variables, coordinates = {}, {"operator": np.arange(len(dataset))}
    for path in chosen_arrays(dataset, arrays):
        text = dataset.item(path)["dtype"] == "text"
        names = ["operator"] if text else dimensions(dataset, path)
        if not text and names[-1].endswith(("column", "parameter")):
            coordinates[names[-1]] = columns.column_names(dataset, path)
        variables[path.strip("/").replace("/", ".")] = (names, np.asarray(dataset[path]))
    info = dataset.info
    facts = {name: info[name] for name in ("config", "engine_version", "precision", "creation_date", "device", "seed") if info[name]}
    return xarray.Dataset(variables, coordinates, facts)


def to_zarr(dataset, path, arrays=None, progress=None):
    """Groups and arrays under the names of the file, block by block."""
    zarr = package("zarr", "to_zarr")
    if os.path.exists(path):
        raise FileError(f"{os.fspath(path)}: exists already; to_zarr makes a new group")
    paths = chosen_arrays(dataset, arrays)
    with bar(progress, "zarr", "array") as step, whole(path) as part:
        root = zarr.open_group(part, mode="w", zarr_format=2)
        root.attrs.update({name: value for name, value in dataset.info.items() if name not in ("file_bytes", "status")})
        for done, name in enumerate(paths, 1):
            copy_array(dataset, root, name)
            if step:
                step(done, len(paths))


def copy_array(dataset, root, path):
    source = dataset[path]
    if isinstance(source, list):
        values = np.array(source)
        root.create_array(path.strip("/"), shape=values.shape, dtype=values.dtype)[...] = values
        return
    stored = root.create_array(path.strip("/"), shape=source.shape, dtype=source.dtype, chunks=(min(256, max(1, len(source))), *source.shape[1:]))
    for first, block in source.blocks():
        stored[first:first + len(block)] = block
    names = dimensions(dataset, path)
    stored.attrs["_ARRAY_DIMENSIONS"] = names
    if names[-1].endswith(("column", "parameter")):
        stored.attrs["column_names"] = columns.column_names(dataset, path)
