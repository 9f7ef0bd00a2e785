"""What is sent about a heartbeat: down, up, and less of it while it flaps."""

import json
import sqlite3
from dataclasses import asdict, dataclass

from tocsin.core.time.timestamps import duration_words
from tocsin.features.context import NoticeLevel
from tocsin.features.heartbeats.model import Heartbeat, HeartbeatSeverity, HeartbeatState

FLAPPING_CHANGES, FLAPPING_S = 4, 1800.0
QUIET_S = 900.0  # without a change, until a heartbeat that flapped is loud again
REMINDER_S = 3600.0
_LEVELS = {
    HeartbeatSeverity.CRITICAL: NoticeLevel.ERROR,
    HeartbeatSeverity.WARNING: NoticeLevel.WARNING,
    HeartbeatSeverity.INFO: NoticeLevel.INFO,
}


@dataclass(frozen=True, slots=True)
class HeartbeatMessage:
    """A message that is stored with the change that it reports, and sent after it."""

    key: str
    heartbeat: str  # its name
    title: str
    body: str
    level: NoticeLevel
    destination: str = ""  # empty: only a notice
    link: str = "#/heartbeats"
    state: str = ""  # the change that it reports, for the audit log
    reason: str = ""
    silent: bool = False  # only audited: the heartbeat flaps


def store_message(connection: sqlite3.Connection, message: HeartbeatMessage) -> None:
    """Store a message in the transaction of its cause."""
    connection.execute("INSERT INTO heartbeat_messages (message) VALUES (?)", [json.dumps(asdict(message))])


def stored_messages(connection: sqlite3.Connection) -> list[tuple[int, HeartbeatMessage]]:
    """Return the messages that are still to be sent, the oldest first."""
    rows = connection.execute("SELECT id, message FROM heartbeat_messages ORDER BY id LIMIT 100").fetchall()
    found = [(row[0], json.loads(row[1])) for row in rows]
    return [(number, HeartbeatMessage(**{**each, "level": NoticeLevel(each["level"])})) for number, each in found]


def change_message(heartbeat: Heartbeat, now: float, said: str = "") -> HeartbeatMessage:
    """Return the message about the present state: down, or up again."""
    watched, definition = heartbeat.watched, heartbeat.definition
    is_down = watched.state is HeartbeatState.DOWN
    if is_down:
        title, body, level = f"{heartbeat.name} is down", watched.reason, _LEVELS[definition.severity]
    else:
        title, level = f"{heartbeat.name} is up again", NoticeLevel.SUCCESS
        body = f"It was down for {duration_words(max(1.0, now - heartbeat.told_at))}." if heartbeat.told_at else ""
    body = "\n\n".join(part for part in (body, said) if part)
    key = f"heartbeat-{heartbeat.id}-{watched.state}-{int(watched.since * 1000)}{'-again' if said else ''}"
    link = f"#/heartbeats/{heartbeat.name}"
    return HeartbeatMessage(
        key,
        heartbeat.name,
        title,
        body,
        level,
        definition.notify,
        link,
        state=str(watched.state),
        reason=watched.reason if is_down else "",
    )


def removal_message(heartbeat: Heartbeat) -> HeartbeatMessage:
    """Return the message about a heartbeat that was removed while it was down."""
    return HeartbeatMessage(
        f"heartbeat-{heartbeat.id}-removed-{int(heartbeat.told_at)}",
        heartbeat.name,
        f"{heartbeat.name} is no longer watched",
        "It was removed while it was down.",
        NoticeLevel.INFO,
        heartbeat.definition.notify,
    )
