"""Modes and previews in the database of this host: the component `bot`."""

import sqlite3
from collections.abc import Mapping

from tocsin.bot.contract import ChatMode
from tocsin.bot.persistence import PREVIEWS_KEPT_S, mode_of
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock


class SqliteBotPersistence:
    """Shared by every process of the data directory."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def mode(self, chat_id: str) -> ChatMode:
        return mode_of(await self._value("SELECT mode FROM chat_modes WHERE chat_id = ?", chat_id))

    async def set_mode(self, chat_id: str, mode: ChatMode) -> None:
        await self._run("INSERT OR REPLACE INTO chat_modes (chat_id, mode) VALUES (?, ?)", chat_id, str(mode))

    async def modes(self) -> Mapping[str, ChatMode]:
        found = await self._pairs("SELECT chat_id, mode FROM chat_modes")
        return {chat: mode_of(mode) for chat, mode in found.items()}

    async def preview(self, received_id: str) -> str | None:
        found = await self._value("SELECT message_id FROM previews WHERE received_id = ?", received_id)
        return found if isinstance(found, str) else None

    async def keep_preview(self, received_id: str, message_id: str) -> None:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM previews WHERE created_at < ?", [now - PREVIEWS_KEPT_S])
            connection.execute("INSERT OR REPLACE INTO previews VALUES (?, ?, ?)", [received_id, message_id, now])

        await self._database.write(work)

    async def forget_preview(self, received_id: str) -> None:
        await self._run("DELETE FROM previews WHERE received_id = ?", received_id)

    async def previews(self) -> Mapping[str, str]:
        return await self._pairs("SELECT received_id, message_id FROM previews")

    async def _value(self, sql: str, key: str) -> object:
        def work(connection: sqlite3.Connection) -> object:
            row = connection.execute(sql, [key]).fetchone()
            return row[0] if row else None

        return await self._database.read(work)

    async def _pairs(self, sql: str) -> dict[str, str]:
        return await self._database.read(lambda c: {str(row[0]): str(row[1]) for row in c.execute(sql).fetchall()})

    async def _run(self, sql: str, *values: object) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(sql, values)

        await self._database.write(work)
