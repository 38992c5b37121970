"""A dataset described in Markdown, from what the file says of itself: the text of ``lathe card``."""
from __future__ import annotations


class Card(str):
    """Markdown; notebooks show it set."""

    def _repr_markdown_(self):
        return str(self)


def card(dataset, checksum=True, license=None) -> Card:
    return Card(dataset._readers().first.card(checksum, license))
