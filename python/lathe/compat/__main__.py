"""``python -m lathe.compat script.py [args]``: runs a script unchanged, with ``import pygranso`` meaning lathe."""
from __future__ import annotations

import os
import runpy
import sys

from . import install

USAGE = "usage: python -m lathe.compat script.py [arguments], or -m module [arguments]"


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        raise SystemExit(0 if arguments else 2)
    install()
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
