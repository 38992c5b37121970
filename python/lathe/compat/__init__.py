"""Drop-ins: modules named as those of PyGRANSO and of the quantum-kernel pipeline, which run on lathe.

Change the import line (``from lathe.compat.pygranso.pygranso import pygranso``), or change nothing and either run
``python -m lathe.compat script.py [args]`` or call ``lathe.compat.install()`` in the first cell of a notebook.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from multiprocessing import spawn

#: What ``install`` makes mean lathe: modules of this folder, with all that is inside them.
NAMES = ("pygranso", "scripts.pipeline_backends")
#: ``opts.capture`` of runs that do not set it.
default_capture = "verify"


def is_ours(name: str) -> bool:
    return any(name == own or name.startswith(own + ".") for own in NAMES)


def is_needed(name: str) -> bool:
    """A package around one of ours, where there is none: a script's own package of that name stays what it is."""
    return any(own.startswith(name + ".") for own in NAMES) and importlib.machinery.PathFinder.find_spec(name) is None


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """``pygranso.x`` is the very module ``lathe.compat.pygranso.x``, not a second copy of it."""

    def find_spec(self, name, path=None, target=None):
        if not (is_ours(name) or is_needed(name)) or importlib.util.find_spec(f"{__name__}.{name}") is None:
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        module = importlib.import_module(f"{__name__}.{spec.name}")
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.own_spec  # the import system has put the alias's in its place


class Inherited:
    """Handed to a process that multiprocessing spawns, which reads the script anew: unpickling it there, before that, installs."""

    def __reduce__(self):
        return inherit, (default_capture,)


def inherit(capture):
    global default_capture
    default_capture = capture
    install()


_handed = spawn.get_preparation_data


def handed(name):
    return {**_handed(name), __name__: Inherited()}


def install():
    """``import pygranso`` means lathe from here on, also where the original was imported before, and in processes spawned by multiprocessing."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    forget()
    sys.meta_path.insert(0, Finder())
    spawn.get_preparation_data = handed


def uninstall():
    """The names mean again what they meant before."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    forget()
    spawn.get_preparation_data = _handed


def forget():
    for name in [n for n in sys.modules if is_ours(n)]:
        del sys.modules[name]
