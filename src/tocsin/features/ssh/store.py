"""The last health result of each host, shared by all processes."""

import json
import sqlite3

from tocsin.core.records.as_json import to_json
from tocsin.core.storage.database import Database
from tocsin.features.ssh.model import HostHealth, HostHealthRecord, HostKey, KeyStatus, Ping, SshAnswer


class ProbeStore:
    """The table of health results."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, HostHealthRecord]:
        """Return the results by host."""
        return await self._database.read(
            lambda connection: {row["host"]: _probe(row) for row in connection.execute("SELECT * FROM ssh_probes")}
        )

    async def put(self, probe: HostHealthRecord) -> None:
        """Store a result in place of the previous one."""
        values = [probe.host, probe.status, probe.failures, probe.checked_at, json.dumps(to_json(probe))]

        await self._database.execute("INSERT OR REPLACE INTO ssh_probes VALUES (?, ?, ?, ?, ?)", values)

    async def forget(self, host: str) -> None:
        """Delete the result of a host, for example after its key was trusted."""
        await self._database.execute("DELETE FROM ssh_probes WHERE host = ?", [host])


def _probe(row: sqlite3.Row) -> HostHealthRecord:
    document = json.loads(row["document"])
    key = HostKey(KeyStatus(document["host_key"]["status"]), document["host_key"]["fingerprint"] or "")
    ping, login = Ping(**document["ping"]), SshAnswer(**document["ssh"])
    return HostHealthRecord(
        row["host"], HostHealth(row["status"]), ping, login, key, row["checked_at"], row["failures"]
    )
