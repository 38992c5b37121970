"""Drop-ins: modules named as those of PyGRANSO, which run on lathe.

Change the import line (``from lathe.compat.pygranso.pygranso import pygranso``), or change nothing and either run
``python -m lathe.compat script.py [args]`` or call ``lathe.compat.install()`` in the first cell of a notebook.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

#: What ``install`` makes mean lathe: the packages in this folder.
NAMES = ("pygranso",)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """``pygranso.x`` is the very module ``lathe.compat.pygranso.x``, not a second copy of it."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in NAMES or importlib.util.find_spec(f"{__name__}.{name}") is None:
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        module = importlib.import_module(f"{__name__}.{spec.name}")
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.own_spec  # the import system has put the alias's in its place


def install():
    """``import pygranso`` means lathe from here on, also where the original was imported before."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    for name in [n for n in sys.modules if n.split(".")[0] in NAMES]:
        del sys.modules[name]
    sys.meta_path.insert(0, Finder())


def uninstall():
    """The names mean again what they meant before."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    for name in [n for n in sys.modules if n.split(".")[0] in NAMES]:
        del sys.modules[name]
