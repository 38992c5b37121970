"""progress=True draws a bar in terminals and notebooks; a function gets the counts."""
from __future__ import annotations

import contextlib
import sys
import time


class Bar:
    """One line, drawn at most ten times a second: on standard error of a terminal, or in a notebook's cell."""

    def __init__(self, label, unit):
        self.label, self.unit, self.start, self.drawn = label, unit, time.monotonic(), 0.0
        self.notebook = "ipykernel" in sys.modules
        self.visible = self.notebook or sys.stderr.isatty()

    def __call__(self, done, total):
        now = time.monotonic()
        if not self.visible or now - self.drawn < 0.1 and done < total:
            return
        self.drawn = now
        seconds = now - self.start
        share = done / total if total else 0.0
        left = f"{seconds * (1 - share) / share:.0f} s left" if share > 0 else ""
        cells = int(30 * share)
        print(f"\r{self.label} [{'#' * cells}{'.' * (30 - cells)}] {done}/{total} {self.unit}s {left:12}", end="", file=sys.stderr, flush=True)

    def close(self):
        if self.visible and self.drawn:
            print(file=sys.stderr, flush=True)


@contextlib.contextmanager
def bar(progress, label, unit):
    """What the extension calls with (done, total), or None."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        made = Bar(label, unit)
        try:
            yield made
        finally:
            made.close()
    else:
        yield progress
