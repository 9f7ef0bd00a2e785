"""What was last seen of each host, shared by all processes."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tocsin.core.storage.database import Database
from tocsin.features.ssh.model import HostHealth, KeyStatus


@dataclass(frozen=True, slots=True)
class Probe:
    """How a host was when it was last looked at; `document` is that of `tocsin ssh health`."""

    host: str
    status: HostHealth
    failures: int  # in a row
    checked_at: float
    document: Mapping[str, Any]

    @property
    def key_changed(self) -> bool:
        """Whether the host showed another key than the one that is trusted."""
        return bool(self.document["host_key"]["status"] == KeyStatus.CHANGED)


class ProbeStore:
    """The table of probes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, Probe]:
        """Return every probe by host."""

        def work(connection: sqlite3.Connection) -> dict[str, Probe]:
            return {row["host"]: _probe(row) for row in connection.execute("SELECT * FROM ssh_probes")}

        return await self._database.read(work)

    async def put(self, probe: Probe) -> None:
        """Keep a probe in place of the last one."""
        values = [probe.host, probe.status, probe.failures, probe.checked_at, json.dumps(dict(probe.document))]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO ssh_probes VALUES (?, ?, ?, ?, ?)", values)

        await self._database.write(work)

    async def forget(self, host: str) -> None:
        """Drop what was seen of a host, for instance before its key was accepted."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM ssh_probes WHERE host = ?", [host])

        await self._database.write(work)


def _probe(row: sqlite3.Row) -> Probe:
    document = json.loads(row["document"])
    return Probe(row["host"], HostHealth(row["status"]), row["failures"], row["checked_at"], document)
