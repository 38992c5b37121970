"""The one line that says how a function is run."""
from __future__ import annotations

import sys

#: Set to True to hear nothing.
quiet = False

_said = set()


def say_once(function, text: str):
    """On standard error, once per function and text."""
    code = getattr(function, "__code__", None)
    key = (getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0), getattr(function, "__qualname__", ""), text)
    if quiet or key in _said:
        return
    _said.add(key)
    name = getattr(function, "__name__", type(function).__name__)
    print(f"lathe: {name}: {text}", file=sys.stderr)
