"""The messages about a heartbeat: down, up, and fewer of them while it flaps."""

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
_PRIORITIES = {HeartbeatSeverity.CRITICAL: 5, HeartbeatSeverity.WARNING: 3, HeartbeatSeverity.INFO: 2}
_TYPES = {
    NoticeLevel.ERROR: "failure",
    NoticeLevel.WARNING: "warning",
    NoticeLevel.INFO: "info",
    NoticeLevel.SUCCESS: "success",
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
    subject: str = ""  # the key of the message about an alarm, which the end of the alarm edits
    priority: int = 3
    resolves: bool = False

    @property
    def content(self) -> dict[str, object]:
        """The fields of the message."""
        found: dict[str, object] = {"title": self.title, "type": _TYPES[self.level], "priority": self.priority}
        return {**found, "key": self.subject} if self.subject else found


def store_message(connection: sqlite3.Connection, message: HeartbeatMessage) -> None:
    """Store a message in the transaction of its cause."""
    connection.execute("INSERT INTO heartbeat_messages (message) VALUES (?)", [json.dumps(asdict(message))])


def stored_messages(connection: sqlite3.Connection) -> list[tuple[int, HeartbeatMessage]]:
    """Return the unsent messages, the oldest first."""
    rows = connection.execute("SELECT id, message FROM heartbeat_messages ORDER BY id LIMIT 100").fetchall()
    found = [(row[0], json.loads(row[1])) for row in rows]
    return [(number, HeartbeatMessage(**{**each, "level": NoticeLevel(each["level"])})) for number, each in found]


def change_message(heartbeat: Heartbeat, now: float, said: str = "") -> HeartbeatMessage:
    """Return the message about the present state: down, or up again, which ends the alarm that was told."""
    watched, definition = heartbeat.watched, heartbeat.definition
    is_down = watched.state is HeartbeatState.DOWN
    if is_down:
        title, body, level = f"{heartbeat.name} is down", watched.reason, _LEVELS[definition.severity]
    else:
        title, level = f"{heartbeat.name} is up again", NoticeLevel.SUCCESS
        body = f"It was down for {duration_words(max(1.0, now - heartbeat.told_at))}." if heartbeat.told_at else ""
    ends_alarm = not is_down and heartbeat.told == HeartbeatState.DOWN
    episode = int((heartbeat.told_at if ends_alarm else now) * 1000)
    return HeartbeatMessage(
        # The form of the keys of runs, by which the notice of a recovery belongs to that of its failure.
        f"heartbeat-{'failing' if is_down else 'recovered'}:{heartbeat.id}:{episode}",
        heartbeat.name,
        title,
        "\n\n".join(part for part in (body, said) if part),
        level,
        definition.notify,
        f"#/heartbeats/{heartbeat.name}",
        state=str(watched.state),
        reason=watched.reason if is_down else "",
        subject=_subject(heartbeat, episode) if is_down or ends_alarm else "",
        priority=_PRIORITIES[definition.severity],
        resolves=not is_down,
    )


def end_message(heartbeat: Heartbeat, title: str, body: str) -> HeartbeatMessage:
    """Return the message that ends an alarm without the heartbeat being up."""
    episode = int(heartbeat.told_at * 1000)
    return HeartbeatMessage(
        f"heartbeat-ended:{heartbeat.id}:{episode}",
        heartbeat.name,
        title,
        body,
        NoticeLevel.INFO,
        heartbeat.definition.notify,
        subject=_subject(heartbeat, episode),
        priority=_PRIORITIES[heartbeat.definition.severity],
        resolves=True,
    )


def _subject(heartbeat: Heartbeat, episode: int) -> str:
    return f"heartbeat:{heartbeat.id}:{episode}"
