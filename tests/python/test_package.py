"""The package as a whole: names, import time, documentation that runs, stubs, the command."""
import doctest
import importlib.util
import os
import pathlib
import pkgutil
import subprocess
import unittest

import harness
import lathe

PACKAGE = pathlib.Path(lathe.__file__).parent


class Names(unittest.TestCase):
    def test_every_public_name_is_there(self):
        for name in lathe.__all__:
            self.assertIsNotNone(getattr(lathe, name), name)

    def test_public_names_are_functions_and_classes_not_modules(self):
        for module in pkgutil.iter_modules([str(PACKAGE)]):
            if module.name != "__main__" and (module.name != "sklearn" or importlib.util.find_spec("sklearn")):
                importlib.import_module(f"lathe.{module.name}")
        for name in lathe.__all__:
            self.assertNotEqual(type(getattr(lathe, name)).__name__, "module", name)

    def test_an_unknown_name_is_an_attribute_error(self):
        with self.assertRaises(AttributeError):
            lathe.no_such_thing

    def test_errors_are_also_the_builtin_ones(self):
        for error, builtin in ((lathe.ArgumentError, ValueError), (lathe.OutOfMemoryError, MemoryError), (lathe.FileError, OSError),
                               (lathe.NumericError, FloatingPointError), (lathe.FormatError, ValueError), (lathe.ShapeError, ValueError)):
            self.assertTrue(issubclass(error, builtin) and issubclass(error, lathe.Error))

    def test_stubs_name_what_is_public(self):
        stub = (PACKAGE / "__init__.pyi").read_text()
        for name in lathe.__all__:
            self.assertRegex(stub, rf"\b{name}\b")
        self.assertTrue((PACKAGE / "py.typed").exists())


class Import(unittest.TestCase):
    def test_import_alone_loads_neither_numpy_nor_frameworks(self):
        loaded = harness.run_code("import lathe, sys; print([m for m in ('numpy', 'torch', 'jax', 'sklearn', 'pandas', 'h5py', 'scipy') if m in sys.modules])")
        self.assertEqual(loaded, "[]")

    def test_modules_are_found_without_an_import_of_their_own(self):
        self.assertEqual(harness.run_code("import lathe; lathe.console.quiet = True; lathe.compat.install(); print(lathe.console.quiet, 'console' in dir(lathe))"), "True True")

    def test_solving_loads_no_framework(self):
        loaded = harness.run_code("import lathe, sys; lathe.solve('example:A1'); print([m for m in ('torch', 'jax', 'sklearn', 'pandas', 'h5py', 'scipy') if m in sys.modules])")
        self.assertEqual(loaded, "[]")

    def test_sub_interpreters_are_refused(self):
        code = """
import sys
try:
    import _interpreters as sub
except ImportError:
    import _xxsubinterpreters as sub
i = sub.create()
sub.run_string(i, "import sys; sys.path[:0] = %r\\ntry:\\n    import numpy\\nexcept Exception as e:\\n    print('numpy refuses')\\nelse:\\n    try:\\n        import lathe._core\\n        print('imported')\\n    except ImportError as e:\\n        print('sub-interpreters' in str(e))" % (sys.path,))
"""
        said = harness.run_code(code)
        self.assertIn(said, ("True", "numpy refuses"), said)


class Documentation(unittest.TestCase):
    def test_examples_in_docstrings_run(self):
        for path in sorted(PACKAGE.rglob("*.py")):
            name = "lathe." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            name = name.removesuffix(".__init__")
            if name.endswith("__main__") or name.split(".")[-1] in ("torch", "jax", "sklearn"):
                continue
            result = doctest.testmod(importlib.import_module(name))
            self.assertEqual(result.failed, 0, name)

    def test_the_page_about_python_runs(self):
        page = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
        result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 10)


class Command(unittest.TestCase):
    def test_the_command_is_found_and_runs(self):
        from lathe.__main__ import command
        self.assertTrue(os.access(command(), os.X_OK))
        self.assertIn("lathe", subprocess.run([command(), "--version"], capture_output=True, text=True).stdout)


if __name__ == "__main__":
    harness.main()
