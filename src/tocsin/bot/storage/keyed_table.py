"""A table of texts by key, in which each change sees the present text: the bot keeps all its records in such tables."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

# Gets the present text, `None` without one, and the time; returns the new text, or `None` to remove it.
Update = Callable[[str | None, float], str | None]


class TableChange(NamedTuple):
    """The text of a key before and after a change."""

    before: str | None
    after: str | None


class KeyedTable(Protocol):
    """Texts by key, the same for every process; some tables forget a text a while after its last change.

    Times are those of the place where the texts are, so that they compare.
    """

    async def get(self, key: str) -> str | None:
        """Return the text of a key."""
        ...

    async def all(self) -> Mapping[str, str]:
        """Return all texts by key."""
        ...

    async def change(self, key: str, update: Update) -> TableChange:
        """Replace the text of a key by what `update` makes of it.

        No other change comes between. `update` may be called several times, of which the last one counts.
        """
        ...


# Opens the table of a name, which forgets texts that many seconds after their last change; 0 keeps them.
OpenTable = Callable[[str, float], KeyedTable]


async def put(table: KeyedTable, key: str, text: str | None) -> None:
    """Replace the text of a key; `None` removes it."""
    await table.change(key, lambda _, __: text)


async def add(table: KeyedTable, key: str, text: str) -> bool:
    """Keep a text unless its key has one; return whether it was kept."""
    return (await table.change(key, lambda present, _: present or text)).before is None
