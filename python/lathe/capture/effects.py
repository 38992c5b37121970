"""What a function does beside returning something: counts, keeps a history, prints. As a graph it would do so no more.

One call is watched: everything that the function can reach (its object, closure, globals that it names, functions that it calls) is looked at
before and after, and what is printed is noticed. A value kept for later is an effect too, as somebody may want the last one (decision 290).
"""
from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
import typing
from collections import deque

import numpy as np

MOST = 20000  #: things looked at; what a function reaches beyond them is not watched
DEEPEST = 6
HASHED_BYTES = 1 << 16
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep, sysconfig.get_paths()["stdlib"] + os.sep)
#: What is inside these goes by its own name.
TRANSPARENT = (types.FunctionType, types.MethodType, functools.partial)
PLAIN = (int, float, complex, str, bytes, bool, type(None), range, slice)


class watch:
    """``with watch(function, …) as seen: function(…)``; afterwards ``seen.effect`` says what the call changed, or is empty.

    Things beside the function are what it is called with.

    >>> calls = []
    >>> def f(x):
    ...     calls.append(x)
    >>> with watch(f) as seen:
    ...     f(1)
    >>> seen.effect
    "changes 'calls'"
    """

    def __init__(self, *things):
        self.things, self.effect = things, ""

    def __enter__(self):
        self.before, self.out = Snapshot(self.things), sys.stdout
        self.tee = sys.stdout = Tee(self.out)
        return self

    def __exit__(self, kind, error, trace):
        sys.stdout = self.out
        if kind is None:
            changed = self.before.difference(Snapshot(self.things))
            self.effect = sentence(*changed) if changed else "prints" if self.tee.written else ""


class Version(typing.NamedTuple):
    """A tensor, and how many times it was changed in place."""

    of: int
    count: int


def sentence(name, in_place) -> str:
    module, _, last = name.rpartition(".")
    if last in ("running_mean", "running_var", "num_batches_tracked"):
        return f"changes the running statistics of '{module}' (put the module in eval mode)"
    return f"changes '{name}'" + (" in place" if in_place else "")


class Tee:
    """Standard output that remembers whether it was written to."""

    def __init__(self, out):
        self.out, self.written = out, False

    def write(self, text):
        self.written = True
        return self.out.write(text)

    def __getattr__(self, name):
        return getattr(self.out, name)


def is_library(file) -> bool:
    return not file or file.startswith("<frozen") or any(part in file for part in _LIBRARIES)


def file_of(kind) -> str:
    """Where a class was written."""
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or ("" if kind.__module__ not in ("__main__", "__mp_main__") else "__main__")


class Snapshot:
    """name -> token of everything that can be reached from some things; a token differs when what it stands for does."""

    def __init__(self, things):
        self.tokens, self.names, self.kept, self.seen = {}, {}, [], set()
        for i, thing in enumerate(things):
            self.look(thing, str(i), "", 0)

    def difference(self, later) -> tuple:
        """(name, whether it is the same tensor) of the first thing that is another, came or went; empty where there is none."""
        for key in [*later.tokens, *self.tokens]:
            old, new = self.tokens.get(key), later.tokens.get(key)
            if old != new:
                return later.names.get(key) or self.names[key], isinstance(old, Version) and isinstance(new, Version) and old.of == new.of
        return ()

    def look(self, value, key, name, depth):
        self.names[key] = name
        if isinstance(value, PLAIN):
            self.tokens[key] = repr(value)
            return
        self.kept.append(value)  # as long as it lives its id is nobody else's
        self.tokens[key] = self.token(value)
        if id(value) in self.seen or depth > DEEPEST or len(self.tokens) > MOST:
            return
        self.seen.add(id(value))
        inside = not isinstance(value, TRANSPARENT)
        for part, child in self.parts(value):
            shown = f"{name}{part}" if inside and part.startswith("[") else f"{name}.{part}" if inside and name and part else part or name
            self.look(child, f"{key}/{part}", shown, depth + 1)

    @staticmethod
    def token(value):
        if isinstance(value, np.ndarray):
            return id(value), value.shape, hash(value.tobytes()) if value.nbytes <= HASHED_BYTES and value.dtype != object else 0
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.nn.Parameter):
            return id(value)  # whoever evaluates writes the point into it
        if torch is not None and isinstance(value, torch.Tensor):
            return Version(id(value), value._version if not value.is_inference() else 0)
        if isinstance(value, (list, tuple, set, dict, deque)):
            return id(value), len(value)
        return id(value)

    def parts(self, value):
        """(name, thing) of what belongs to a thing and can change."""
        if isinstance(value, types.FunctionType):
            return of_function(value)
        if isinstance(value, types.MethodType):
            return [("self", value.__self__), ("()", value.__func__)]
        if isinstance(value, functools.partial):
            return [("()", value.func), *numbered(value.args), *value.keywords.items()]
        if isinstance(value, dict):
            return [(f"[{k!r}]", v) for k, v in list(value.items())[:1000]]
        if isinstance(value, (list, tuple, deque)):
            return numbered(value)
        if isinstance(value, (types.ModuleType, types.BuiltinFunctionType)):
            return []
        if isinstance(value, type):
            return [(k, v) for k, v in vars(value).items() if not k.startswith("__") or k == "__call__"] if not is_library(file_of(value)) else []
        return of_object(value)


def numbered(items):
    return [(f"[{i}]", v) for i, v in enumerate(list(items)[:1000])]


def of_function(function):
    code = function.__code__
    own = code.co_filename.startswith(_OWN)
    if is_library(code.co_filename) and not own:
        return []
    found = [(name, cell.cell_contents) for name, cell in zip(code.co_freevars, function.__closure__ or ()) if cell_is_full(cell)]
    if own:  # a wrapper of ours: what it wraps counts
        return found
    found += list(vars(function).items()) + numbered(function.__defaults__ or ()) + list((function.__kwdefaults__ or {}).items())
    return found + [(name, function.__globals__[name]) for name in sorted(names_of(code)) if name in function.__globals__]


def cell_is_full(cell) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def names_of(code) -> set:
    """Globals that a function or one inside it may name."""
    return set(code.co_names).union(*(names_of(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def of_object(value):
    """Attributes of objects of the user's classes, and of modules of PyTorch what a run changes in them."""
    fields = getattr(value, "__dict__", None)
    if not isinstance(fields, dict):
        return []
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.nn.Module):
        plain = {} if is_library(file_of(type(value))) else {k: v for k, v in fields.items() if not k.startswith("_")}
        return [*plain.items(), *fields.get("_buffers", {}).items(), *fields.get("_modules", {}).items(), ("()", type(value))]
    if is_library(file_of(type(value))) or file_of(type(value)).startswith(_OWN):
        return []
    return [*fields.items(), ("()", type(value))]
