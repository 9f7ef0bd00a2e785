"""What the bot itself keeps: each chat's mode, and which preview belongs to which message."""

import sqlite3

from tocsin.bot.contract import ChatMode
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

PREVIEWS_KEPT_S = 7 * 86400.0  # of messages whose work never ended; an answer is long out by then


class BotPersistence:
    """Survives a restart: the component `bot` of the database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def mode(self, chat_id: str) -> ChatMode:
        """Return the chat's mode."""
        found = await self._value("SELECT mode FROM chat_modes WHERE chat_id = ?", chat_id)
        return ChatMode(str(found)) if found in set(ChatMode) else ChatMode.CHAT

    async def set_mode(self, chat_id: str, mode: ChatMode) -> None:
        """Keep the chat's mode."""
        await self._run("INSERT OR REPLACE INTO chat_modes (chat_id, mode) VALUES (?, ?)", chat_id, str(mode))

    async def preview(self, received_id: str) -> str | None:
        """Return the preview that an earlier attempt has left in the chat."""
        found = await self._value("SELECT message_id FROM previews WHERE received_id = ?", received_id)
        return found if isinstance(found, str) else None

    async def keep_preview(self, received_id: str, message_id: str) -> None:
        """Keep that `message_id` is the preview of the answer to `received_id`."""
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM previews WHERE created_at < ?", [now - PREVIEWS_KEPT_S])
            connection.execute("INSERT OR REPLACE INTO previews VALUES (?, ?, ?)", [received_id, message_id, now])

        await self._database.write(work)

    async def forget_preview(self, received_id: str) -> None:
        """Forget the preview: the answer has taken its place."""
        await self._run("DELETE FROM previews WHERE received_id = ?", received_id)

    async def _value(self, sql: str, key: str) -> object:
        def work(connection: sqlite3.Connection) -> object:
            row = connection.execute(sql, [key]).fetchone()
            return row[0] if row else None

        return await self._database.read(work)

    async def _run(self, sql: str, *values: object) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(sql, values)

        await self._database.write(work)
