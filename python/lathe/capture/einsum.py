"""np.einsum on tracers: pairs of operands become matrix products, the rest sums and diagonals."""
from __future__ import annotations

import numpy as np

from .functions import of, traced
from .tracer import graph_of, lift, refuse


@of(np.einsum)
def einsum(subscripts, *operands, optimize=False, dtype=None, order="K", casting="safe"):
    if not isinstance(subscripts, str):
        refuse("np.einsum with lists of axes")
    g = graph_of(operands)
    terms, result = parse(subscripts, operands)
    parts = [(term, traced(lift(g, x), real=True)) for term, x in zip(terms, operands)]
    parts = [diagonals(*p) for p in parts]
    while len(parts) > 1:
        (a, x), (b, y) = parts[0], parts[1]
        later = set(result).union(*(t for t, _ in parts[2:])) if len(parts) > 2 else set(result)
        parts[:2] = [contract(a, x, b, y, later)]
    term, x = parts[0]
    gone = tuple(i for i, c in enumerate(term) if c not in result)
    if gone:
        x, term = np.sum(x, axis=gone), "".join(c for c in term if c in result)
    return np.transpose(x, [term.index(c) for c in result]) if term != result else x


def parse(subscripts, operands):
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if "." in text:
        spare = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in text]
        widths = [np.ndim(x) - len(t.replace("...", "")) for t, x in zip(terms, operands)]
        most = max((w for w, t in zip(widths, terms) if "..." in t), default=0)
        names = spare[:most]
        terms = [t.replace("...", "".join(names[most - w:])) for t, w in zip(terms, widths)]
        right = right.replace("...", "".join(names))
        if not arrow:
            right = "".join(names) + implied("".join(terms), names)
    elif not arrow:
        right = implied("".join(terms), ())
    if len(terms) != len(operands):
        raise ValueError("einsum: number of operands does not match the subscripts")
    return terms, right


def implied(letters, skip):
    return "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in skip))


def diagonals(term, x):
    """Letters that occur twice in one operand: its diagonal."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            i = term.index(c)
            j = term.index(c, i + 1)
            x = np.diagonal(x, 0, i, j)
            term = term[:i] + term[i + 1:j] + term[j + 1:] + c
    return term, x


def contract(a, x, b, y, later):
    """Two operands as a batched matrix product: shared letters that stay are the batch, those that do not are summed."""
    batch = [c for c in a if c in b and c in later]
    inner = [c for c in a if c in b and c not in later]
    rows = [c for c in a if c not in b and c in later]
    columns = [c for c in b if c not in a and c in later]
    x, a = drop(a, x, set(batch + inner + rows))
    y, b = drop(b, y, set(batch + inner + columns))
    size = {**dict(zip(b, y.shape)), **dict(zip(a, x.shape))}
    count = lambda letters: int(np.prod([size[c] for c in letters], dtype=np.int64))  # noqa: E731
    x = np.reshape(np.transpose(x, [a.index(c) for c in batch + rows + inner]), (count(batch), count(rows), count(inner)))
    y = np.reshape(np.transpose(y, [b.index(c) for c in batch + inner + columns]), (count(batch), count(inner), count(columns)))
    made = np.matmul(x, y) if batch else np.matmul(x[0], y[0])
    return "".join(batch + rows + columns), np.reshape(made, [size[c] for c in batch + rows + columns])


def drop(term, x, keep):
    """Sums over letters that nobody else has."""
    gone = tuple(i for i, c in enumerate(term) if c not in keep)
    return (np.sum(x, axis=gone), "".join(c for c in term if c in keep)) if gone else (x, term)
