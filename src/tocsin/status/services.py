"""The states of services, from their own interfaces: the gateway over HTTP, the scheduler by its lease."""

import asyncio
import json
import sqlite3
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.process.identity import is_dead
from tocsin.core.storage.database import Database
from tocsin.features.context import SubsystemState
from tocsin.scheduling.lease import MOVE_RUNS
from tocsin.status.model import ServiceStatus

ASK_S = 1.0
MAX_ANSWER = 256 * 1024
_HOLDERS = "SELECT holder FROM leases WHERE name != ?"
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # nothing listens here


async def gateway_health(host: str, port: int) -> dict[str, Any] | None:
    """Return the health document of the gateway on this machine; `None` if it does not run."""
    try:
        async with asyncio.timeout(ASK_S):
            reader, writer = await asyncio.open_connection(_WILDCARDS.get(host, host), port)
            try:
                writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = await reader.read(MAX_ANSWER) + await reader.read(MAX_ANSWER)
            finally:
                writer.close()
        health = json.loads(answer.partition(b"\r\n\r\n")[2])
    except (OSError, TimeoutError, ValueError):
        return None
    return health if isinstance(health, dict) and "instance" in health else None


def gateway_service(health: dict[str, Any] | None, instance: str) -> ServiceStatus:
    """Return the state of the gateway of the data directory `instance`."""
    if health is None or health["instance"] != instance:
        other = " (a service of another installation listens there)" if health else ""
        return ServiceStatus("gateway", SubsystemState.DISABLED, f"not running{other}")
    said = str(health.get("status", ""))
    detail = {"ok": "it runs", "draining": "stopping"}.get(said, f"it reports {said}")
    return ServiceStatus("gateway", SubsystemState.OK if said == "ok" else SubsystemState.DEGRADED, detail)


def bot_service(health: dict[str, Any] | None, instance: str, missing: str) -> ServiceStatus:
    """Return the state of the bot that the gateway of its process reports; `missing` are required unset settings."""
    if missing:
        return ServiceStatus("bot", SubsystemState.UNCONFIGURED, f"set {missing}")
    bot = health.get("bot") if health and health["instance"] == instance else None
    if not isinstance(bot, dict):
        return ServiceStatus("bot", SubsystemState.DISABLED, "not known to a gateway on this machine")
    said = str(bot.get("status", ""))
    state = SubsystemState.OK if said == "ok" else SubsystemState.DEGRADED
    return ServiceStatus("bot", state, f"{bot.get('mode', '')}, {said}".strip(", "))


async def scheduler_service(database: Database) -> ServiceStatus:
    """Return whether a process holds a lease of the scheduler."""

    def read(connection: sqlite3.Connection) -> list[str]:
        return [row["holder"] for row in connection.execute(_HOLDERS, [MOVE_RUNS])]

    try:
        holders = await database.read(read)
    except TocsinError as error:
        return ServiceStatus("scheduler", SubsystemState.ERROR, error.sentence())
    if any(holder and not is_dead(holder) for holder in holders):
        return ServiceStatus("scheduler", SubsystemState.OK, "it runs")
    return ServiceStatus("scheduler", SubsystemState.DISABLED, "not running")
