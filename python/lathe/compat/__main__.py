"""``python -m lathe.compat script.py [args]``: runs a script unchanged, with ``import pygranso`` meaning lathe."""
from __future__ import annotations

import os
import runpy
import sys

import lathe.capture
import lathe.compat

from . import install

USAGE = """usage: python -m lathe.compat [--capture MODE] script.py [arguments], or -m module [arguments]

  --capture MODE   whether functions given to pygranso become graphs where the script does not say: verify (where they can be and are equal;
                   the default), always, never"""


def take_capture(arguments):
    """The arguments after --capture MODE, which is kept for the runs of this process."""
    name, equals, mode = arguments[0].partition("=")
    if name != "--capture":
        return arguments
    rest = arguments[1:] if equals else arguments[2:]
    mode = mode if equals else "".join(arguments[1:2])
    if mode not in lathe.capture.MODES or not rest:
        wrong = f"--capture '{mode}': expected one of {', '.join(lathe.capture.MODES)}" if mode not in lathe.capture.MODES else USAGE
        print(f"lathe.compat: {wrong}", file=sys.stderr)
        raise SystemExit(2)
    lathe.compat.default_capture = mode
    return rest


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        raise SystemExit(0 if arguments else 2)
    install()
    arguments = take_capture(arguments)
    if arguments[0] == "-m":
        if len(arguments) < 2:
            raise SystemExit(USAGE)
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    script = arguments[0]
    if not os.path.isfile(script):
        print(f"lathe.compat: there is no file '{script}'", file=sys.stderr)
        raise SystemExit(2)
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


main()
