"""Work for chats in the database of this host: the component `chat_work`."""

import sqlite3
from collections.abc import Collection

from tocsin.bot.shared_work import KEPT_S
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock


class SqliteChatWork:
    """Shared by every process of the data directory."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, chat_id: str, received_id: str, seq: int) -> bool:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> bool:
            for table in ("chat_work", "chat_cancels"):
                connection.execute(f"DELETE FROM {table} WHERE at < ?", [now - KEPT_S])  # noqa: S608  # our own names
            sql = "SELECT 1 FROM chat_cancels WHERE chat_id = ? AND before > ? AND ? > 0"
            cancelled = connection.execute(sql, [chat_id, seq, seq]).fetchone() is not None
            sql = "SELECT cancelled FROM chat_work WHERE received_id = ?"
            row = connection.execute(sql, [received_id]).fetchone()
            if cancelled or (row and row["cancelled"]):
                connection.execute("DELETE FROM chat_work WHERE received_id = ?", [received_id])
                return False
            sql = "INSERT OR IGNORE INTO chat_work (received_id, chat_id, at) VALUES (?, ?, ?)"
            connection.execute(sql, [received_id, chat_id, now])
            return True

        return await self._database.write(work)

    async def end(self, chat_id: str, received_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM chat_work WHERE received_id = ?", [received_id])

        await self._database.write(work)

    async def is_cancelled(self, chat_id: str, received_id: str) -> bool:
        sql = "SELECT 1 FROM chat_work WHERE received_id = ? AND cancelled"
        return await self._database.read(lambda c: c.execute(sql, [received_id]).fetchone() is not None)

    async def cancel(self, chat_id: str, received_id: str, but: Collection[str], before: int) -> int:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> int:
            sql = "SELECT received_id FROM chat_work WHERE chat_id = ? AND NOT cancelled"
            found = {str(row["received_id"]) for row in connection.execute(sql, [chat_id]).fetchall()}
            chosen = found & {received_id} if received_id else found - set(but)
            sql = "UPDATE chat_work SET cancelled = 1 WHERE received_id = ?"
            connection.executemany(sql, [[each] for each in chosen])
            if found and before:
                connection.execute("INSERT OR REPLACE INTO chat_cancels VALUES (?, ?, ?)", [chat_id, before, now])
            return len(chosen)

        return await self._database.write(work)

    async def forget(self, history: str, before: int) -> None:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM chat_resets WHERE at < ?", [now - KEPT_S])
            connection.execute("INSERT OR REPLACE INTO chat_resets VALUES (?, ?, ?)", [history, before, now])

        await self._database.write(work)

    async def is_forgotten(self, history: str, seq: int) -> bool:
        sql = "SELECT 1 FROM chat_resets WHERE history = ? AND before > ?"
        return await self._database.read(lambda c: c.execute(sql, [history, seq]).fetchone() is not None)
