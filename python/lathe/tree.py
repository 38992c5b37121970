"""What functions take and return: arrays in tuples, lists, dicts and attribute bags, taken apart and put together again."""
from __future__ import annotations


class Tree:
    """The structure around a list of leaves."""

    __slots__ = ("kind", "keys", "children")

    def __init__(self, kind, keys=(), children=()):
        self.kind, self.keys, self.children = kind, tuple(keys), tuple(children)

    def __eq__(self, other):
        return isinstance(other, Tree) and (self.kind, self.keys, self.children) == (other.kind, other.keys, other.children)

    def __repr__(self):
        return "*" if self.kind == "leaf" else f"{self.kind}({', '.join(map(repr, self.children))})"


LEAF = Tree("leaf")
NOTHING = Tree("none")


def is_bag(value) -> bool:
    """An object that only carries attributes, as pygransoStruct: no array, no sequence, no number."""
    return getattr(type(value), "__lathe_bag__", False)


def flatten(value):
    """(leaves, Tree)"""
    if value is None:
        return [], NOTHING
    if isinstance(value, dict) or is_bag(value):
        items = value if isinstance(value, dict) else vars(value)
        parts = [flatten(v) for v in items.values()]
        return [x for leaves, _ in parts for x in leaves], Tree(type(value) if is_bag(value) else dict, items, [t for _, t in parts])
    if isinstance(value, (tuple, list)):
        parts = [flatten(v) for v in value]
        return [x for leaves, _ in parts for x in leaves], Tree(type(value), (), [t for _, t in parts])
    return [value], LEAF


def unflatten(tree: Tree, leaves: list):
    """The inverse; leaves are taken from the front of the list."""
    if tree.kind == "none":
        return None
    if tree.kind == "leaf":
        return leaves.pop(0)
    parts = [unflatten(t, leaves) for t in tree.children]
    if tree.keys or tree.kind is dict:
        if tree.kind is dict:
            return dict(zip(tree.keys, parts))
        bag = tree.kind()
        vars(bag).update(zip(tree.keys, parts))
        return bag
    return tree.kind(*parts) if hasattr(tree.kind, "_fields") else tree.kind(parts)


def tree_map(function, value):
    leaves, tree = flatten(value)
    return unflatten(tree, [function(x) for x in leaves])
