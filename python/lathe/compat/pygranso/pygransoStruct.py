"""pygransoStruct: named things in the order in which they were set."""
from __future__ import annotations


class pygransoStruct:
    """An attribute bag: ``ci = pygransoStruct(); ci.c1 = ...``. Its attributes keep their order."""

    __lathe_bag__ = True

    def __repr__(self):
        return "\n".join(f"{name}: {value!r}" for name, value in vars(self).items())

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


def struct(**fields) -> pygransoStruct:
    """One with these fields."""
    made = pygransoStruct()
    vars(made).update(fields)
    return made


def fields_of(bag) -> dict:
    """The fields of a struct, of a dict, or of any other object that carries attributes."""
    return dict(bag) if isinstance(bag, dict) else dict(vars(bag))
