"""``lathe …`` and ``python -m lathe …``: the command that came with the package."""
from __future__ import annotations

import os
import shutil
import sys


def command() -> str:
    """Path of the lathe command: beside this package, in a build folder, or on the PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.path.join(here, "bin", "lathe"), os.path.join(here, "..", "..", "bin", "lathe")):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("lathe")
    if found and not same_script(found):
        return found
    raise SystemExit("lathe: this package was installed without the command")


def same_script(path) -> bool:
    """Whether a file is the console script that calls this very function."""
    with open(path, "rb") as file:
        return b"lathe.__main__" in file.read(4096)


def main():
    path = command()
    os.execv(path, ["lathe", *sys.argv[1:]])


if __name__ == "__main__":
    main()
