"""Detects whether Redis is the one that this data directory knows, another one, or an older copy.

Redis stores an ID; a file in the data directory stores the same ID, and the number of accepted messages at the last
check.
"""

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from tocsin.core.ids import new_id
from tocsin.core.storage.files import WriteError, write_atomically
from tocsin.core.storage.redis_client import RedisClient, load_script

log = logging.getLogger(__name__)

KEY = "tocsin:installation"
FILE_NAME = "redis.json"
_LUA = Path(__file__).parent / "lua"
_PRESENT = load_script(_LUA, "present")


@dataclass(frozen=True, slots=True)
class _StoredIdentity:
    id: str = ""
    count: int = 0


class RedisIdentity:
    """Compares a Redis with the identity in a data directory."""

    def __init__(self, client: RedisClient, file: Path) -> None:
        self._client = client
        self._file = file
        self._told: list[str] = []  # problems found so far, which stay true while this process runs

    async def check(self, count: int) -> list[str]:
        """Return the problems found; `count` is a number in Redis that only grows unless data is lost.

        Without a data directory, this checks and writes nothing.
        """
        if not self._file.parent.is_dir():
            return []
        known = self._read()
        present = await self._present(known.id)
        if known.id and present != known.id:
            return [*self._told, self._another()]
        if known.id and count < known.count:
            self._told.append(self._older(known.count, count))
        if (present, count) != (known.id, known.count):
            self._write(_StoredIdentity(present, count))
        return self._told

    async def _present(self, known: str) -> str:
        """Return the ID of Redis; if it has none, store the known ID or a new one."""
        return bytes(await self._client.run(_PRESENT, [KEY], [known or new_id()])).decode()

    def _another(self) -> str:
        return (
            f"Redis at {self._client.where} is not the server that this data directory used before, so hosts may "
            f"use different queues: correct REDIS_URL; if the change is intended, delete {self._file}"
        )

    def _older(self, before: int, now: int) -> str:
        return (
            f"Redis at {self._client.where} was emptied or restored from an older copy (it had accepted {before:,} "
            f"messages, now {now:,}): messages accepted since that copy are lost, and messages sent since then may "
            "be sent again"
        )

    def _read(self) -> _StoredIdentity:
        try:
            document = json.loads(self._file.read_bytes())
            return _StoredIdentity(str(document["id"]), int(document["count"]))
        except (OSError, ValueError, KeyError, TypeError):
            return _StoredIdentity()

    def _write(self, known: _StoredIdentity) -> None:
        try:
            write_atomically(self._file, json.dumps({"id": known.id, "count": known.count}))
        except WriteError as error:
            log.warning("the identity of Redis could not be saved", extra={"reason": error.sentence()})
