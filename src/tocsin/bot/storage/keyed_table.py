"""The key-value tables of the bot's records, with atomic updates."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

# Called with the present text (`None` if there is none) and the time; returns the new text, or `None` to delete it.
Update = Callable[[str | None, float], str | None]


class TableChange(NamedTuple):
    """The text of a key before and after a change."""

    before: str | None
    after: str | None


class KeyedTable(Protocol):
    """Texts by key, shared by all processes; in some tables a text expires a fixed time after its last change.

    Times come from the clock of the store, so that they are comparable.
    """

    async def get(self, key: str) -> str | None:
        """Return the text of a key."""

    async def all(self) -> Mapping[str, str]:
        """Return all texts by key."""

    async def change(self, key: str, update: Update) -> TableChange:
        """Replace the text of a key with the result of `update`.

        The change is atomic. `update` may be called several times; the last call counts.
        """


# Opens a table by name; its texts expire that many seconds after their last change, 0 means never.
OpenTable = Callable[[str, float], KeyedTable]


async def put(table: KeyedTable, key: str, text: str | None) -> None:
    """Replace the text of a key; `None` deletes it."""
    await table.change(key, lambda _, __: text)


async def add(table: KeyedTable, key: str, text: str) -> bool:
    """Store a text unless its key has one; return True if it was stored."""
    return (await table.change(key, lambda present, _: present or text)).before is None
