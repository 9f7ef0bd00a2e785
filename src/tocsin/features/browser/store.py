"""The browsers that were started, shared by all processes: the last one of each profile."""

import sqlite3
from pathlib import Path

from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads
from tocsin.features.browser.model import BrowserProcess

_COLUMNS = "profile, user_data_dir, pid, identity, port, started_at, ended_at, problem"


class BrowserStore:
    """The table of started browsers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @reads
    def all(self, connection: sqlite3.Connection) -> dict[str, BrowserProcess]:
        """Return the record of each profile's browser."""
        rows = connection.execute(f"SELECT {_COLUMNS} FROM browser_processes ORDER BY profile")  # noqa: S608  # ours
        return {row["profile"]: _process(row) for row in rows}

    async def put(self, process: BrowserProcess) -> None:
        """Keep a browser in place of the profile's last one."""
        values = process._replace(user_data_dir=str(process.user_data_dir))  # type: ignore[arg-type]  # as stored

        await self._database.execute("INSERT OR REPLACE INTO browser_processes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    async def end(self, process: BrowserProcess, at: float, problem: str = "") -> bool:
        """Record that a browser has ended; return False if that was recorded already."""
        sql = (
            "UPDATE browser_processes SET ended_at = ?, problem = ?"
            " WHERE profile = ? AND identity = ? AND ended_at IS NULL"
        )
        return await self._database.execute(sql, [at, problem, process.profile, process.identity]) > 0

    async def forget(self, profile: str) -> None:
        """Delete the record of a profile's browser."""
        await self._database.execute("DELETE FROM browser_processes WHERE profile = ?", [profile])


def _process(row: sqlite3.Row) -> BrowserProcess:
    values = dict(row)
    return BrowserProcess(**{**values, "user_data_dir": Path(values["user_data_dir"])})
