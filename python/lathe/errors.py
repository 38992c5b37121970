"""What lathe raises: one class per kind of failure, each also the built-in exception that callers expect.

The text of every one of them is the C library's sentence, unchanged.

>>> import lathe
>>> try:
...     lathe.solve("var x[2]\\nminimize sum(y)")
... except ValueError as error:
...     print(type(error).__name__)
FormatError
"""
from __future__ import annotations

import os
import traceback


class Error(Exception):
    """Any failure of lathe. ``solution`` or ``partial`` hold what was computed before it, where there is something."""

    solution = None
    partial = None


class ArgumentError(Error, ValueError):
    """A value outside what the function accepts."""


class ShapeError(Error, ValueError):
    """Extents that do not fit together."""


class DtypeError(Error, TypeError, ValueError):
    """An element type that does not fit."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed, or a limit was reached."""


class FileError(Error, OSError):
    """A file could not be opened, read or written."""


class FormatError(Error, ValueError):
    """A file or text that does not follow its format."""


class UnsupportedError(Error, NotImplementedError):
    """Correct, but this build or device cannot do it."""


class DeviceError(Error, RuntimeError):
    """A device reported a fault."""


class NumericError(Error, FloatingPointError):
    """A factorisation or iteration failed."""


class MismatchError(Error, ValueError):
    """Two results that should agree do not."""


class CancelledError(Error):
    """The caller asked to stop."""


class InternalError(Error, RuntimeError):
    """A mistake in lathe; please report it."""


class CaptureError(Error, TypeError):
    """A function that cannot become a graph; the text says what stands in the way."""


#: By the name of the C library's status.
BY_STATUS = {
    "argument": ArgumentError, "shape": ShapeError, "type": DtypeError, "memory": OutOfMemoryError, "io": FileError,
    "format": FormatError, "unsupported": UnsupportedError, "device": DeviceError, "numeric": NumericError,
    "mismatch": MismatchError, "cancelled": CancelledError, "internal": InternalError,
}


def kind_of(value) -> str:
    """What a value is, for a sentence: 'an int', 'a Tensor', 'None'."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def place(error: BaseException) -> str:
    """The innermost line of the user's code that an exception went through: 'file.py:12', or ''."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_HERE)]
    own = [f for f in frames if os.sep + "site-packages" + os.sep not in f.filename and not f.filename.startswith("<")] or frames
    return f"{os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""


def of_result(error: Error, function) -> Error:
    """An error about what a function returned: with the place of the function, of which the traceback has no line."""
    code = getattr(function, "__code__", None)
    if code is not None and not any(frame.f_code is code for frame, _ in traceback.walk_tb(error.__traceback__)):
        error.args = (f"{error} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})",)
    return error


def describe(error: BaseException) -> str:
    """An exception as one line with the user's file and line."""
    where = place(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{text} ({where})" if where else text
