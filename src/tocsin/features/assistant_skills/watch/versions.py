"""The versions of files on which each skill has acted, claimed in the database so that it acts on none twice."""

from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

KEPT_S = 30 * 86400.0


class ActedVersions:
    """The table of versions; several processes may watch the same folder."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def claim(self, skill: str, folder: str, path: str, version: str) -> bool:
        """Claim a version; return whether it was not claimed before."""
        sql = "INSERT OR IGNORE INTO assistant_versions VALUES (?, ?, ?, ?, ?)"
        return await self._database.execute(sql, (skill, folder, path, version, self._clock.now())) == 1

    async def prune(self) -> None:
        oldest = self._clock.now() - KEPT_S

        await self._database.execute("DELETE FROM assistant_versions WHERE at < ?", [oldest])
