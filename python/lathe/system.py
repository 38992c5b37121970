"""Devices, what is missing, where the time goes."""
from __future__ import annotations

import contextlib
import os

from . import _core
from ._core import get_threads, last_copies


def devices() -> list[dict]:
    """What is here: one dict per device that opens.

    >>> import lathe
    >>> lathe.devices()[0]["id"]
    'cpu'
    """
    return _core.devices()


def set_threads(n: int) -> None:
    """Threads of the library's pool; 0 for all cores this process may use. A forked process has one until it asks for more."""
    _core.set_threads(n)


def options(of: str = "solve") -> list[dict]:
    """The options of "solve", "gram", "qsvm" or "similarity": name, type, default, what is expected, help.

    >>> import lathe
    >>> next(o["expects"] for o in lathe.options("solve") if o["name"] == "stationarity_tol")
    'a number in [0, inf]'
    """
    return _core.option_rows(of)


def examples() -> dict[str, str]:
    """Built-in problems and their titles: ``lathe.solve("example:A1")``."""
    return _core.example_names()


class Diagnosis(dict):
    """What ``lathe.doctor()`` found."""

    @property
    def healthy(self) -> bool:
        return not self["problems"]

    def __repr__(self):
        lines = [f"lathe {self['build']['version']}, {self['build']['compiler']}, {self['build']['type']}"]
        lines += [f"  {f['name']:10} {'yes' if f['built_in'] else 'no: ' + f['package'] + ' brings it':32} {f['purpose']}" for f in self["features"]]
        lines += [f"  {d['id']:10} {d['name']}" for d in self["devices"]]
        lines += [f"  {x['name']:10} {x['version'] if x['usable'] else 'not usable: ' + x['reason']}" for x in self["libraries"]]
        return "\n".join(lines + [f"  ! {p}" for p in self["problems"]])


def doctor() -> Diagnosis:
    """What this build contains, which devices and libraries it finds, and what stands in its way.

    >>> import lathe
    >>> lathe.doctor().healthy
    True
    """
    environment = _core.environment()
    return Diagnosis(build=_core.build(), features=_core.features(), devices=_core.devices(), libraries=_core.libraries(), environment=environment,
                     problems=[e["problem"] for e in environment if e["problem"]])


class Profile(list):
    """Where the time went: one dict per span, by total seconds."""

    def __repr__(self):
        return "\n".join(["   calls      total       self  name"] + [f"{r['calls']:8d} {r['total']:10.6f} {r['self']:10.6f}  {r['name']}" for r in self])


@contextlib.contextmanager
def profile(path=None):
    """Records what happens inside; at the end a Chrome trace is written to path, and the yielded list holds the spans.

    >>> import lathe
    >>> with lathe.profile() as spans:
    ...     _ = lathe.solve("example:A1")
    >>> any("solve" in row["name"] for row in spans)
    True
    """
    rows = Profile()
    _core.trace_start()
    try:
        yield rows
    finally:
        _core.trace_stop(None if path is None else os.fspath(path))
        rows.extend(_core.trace_rows())


__all__ = ["devices", "doctor", "examples", "get_threads", "last_copies", "options", "profile", "set_threads"]
