"""The notebooks of examples/notebooks: their cells run in order, results can be shown, and no output is stored."""
import ast
import importlib.util
import json
import pathlib
import unittest

import harness
import lathe

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "notebooks"


def run_cell(code, names, where):
    """Runs a cell; the value of a last expression is shown in every way that a notebook would try."""
    tree = ast.parse(code, where)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    if last is not None:
        value = eval(compile(last, where, "eval"), names)
        for method in ("__repr__", "_repr_html_", "_repr_markdown_"):
            if hasattr(type(value), method) and not isinstance(getattr(value, method)(), str):
                raise AssertionError(f"{where}: {method} gave no text")


class Notebooks(unittest.TestCase):
    def test_there_is_one_for_each_engine(self):
        self.assertEqual({p.stem for p in FOLDER.glob("*.ipynb")}, {"optimize", "operators", "kernels"})

    def test_they_are_notebooks_without_outputs(self):
        for path in FOLDER.glob("*.ipynb"):
            book = json.loads(path.read_text())
            self.assertEqual((book["nbformat"], book["nbformat_minor"]), (4, 5), path.name)
            self.assertEqual(len({c["id"] for c in book["cells"]}), len(book["cells"]), path.name)
            for cell in book["cells"]:
                self.assertIn(cell["cell_type"], ("markdown", "code"))
                if cell["cell_type"] == "code":
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), path.name)

    def test_they_run(self):
        for path in sorted(FOLDER.glob("*.ipynb")):
            book = json.loads(path.read_text())
            missing = [n for n in book["metadata"]["lathe"]["needs"] if importlib.util.find_spec(n) is None]
            with self.subTest(path.name):
                if missing:
                    self.skipTest(f"{path.name}: not installed: {', '.join(missing)}")
                try:
                    self.run_book(book, path.name)
                except lathe.UnsupportedError as error:
                    self.skipTest(f"{path.name}: {error}")

    def run_book(self, book, name):
        names = {"__name__": "__main__"}
        for i, cell in enumerate(book["cells"]):
            if cell["cell_type"] == "code":
                run_cell("".join(cell["source"]), names, f"{name}[{i}]")


if __name__ == "__main__":
    harness.main()
