"""The audit entries of sent messages and of the queue."""

from collections.abc import Mapping

from tocsin.core.audit.actions import (
    ATTEMPTS,
    CHANNEL,
    DELIVERY,
    DURATION_MS,
    ERROR_CLASS,
    EVENT,
    OK,
    STATUS,
    TARGET,
    AuditAction,
    AuditField,
    AuditSource,
)
from tocsin.core.audit.trail import AuditTrail

BUS = AuditSource("bus", "an entry of the bus")
QUEUE = AuditSource("queue", "the durable queue, which sends what was accepted before")

_PROFILE = AuditField("profile", "the name of the profile")
_TARGETS = AuditField("targets", "for each target of the profile the metadata of a `msg.send`")

MSG_SEND = AuditAction(
    "msg.send",
    "One message went out, or was refused. Of a queued one: it was sent, or refused for good.",
    (CHANNEL, TARGET, OK),
    (ATTEMPTS, DURATION_MS, ERROR_CLASS, DELIVERY, STATUS, EVENT),
    "`duration_ms` of a direct send, `error_class` and `delivery` after its failure; `delivery` and `status` of a "
    "queued one; `event` instead of `attempts` of an answer to a command or button, which goes out without the queue",
)
MSG_QUEUE = AuditAction("msg.queue", "A message was accepted by the queue.", (DELIVERY, CHANNEL, TARGET))
MSG_REPLAY = AuditAction("msg.replay", "A delivery that ended unsent was queued again.", (DELIVERY, CHANNEL, TARGET))
MSG_RETRY = AuditAction("msg.retry", "A delivery was tried before its next try was due.", (DELIVERY, CHANNEL, TARGET))
MSG_DISMISS = AuditAction(
    "msg.dismiss", "A person said that a delivery that ended unsent needs nothing more.", (DELIVERY, CHANNEL, TARGET)
)
MSG_CANCEL = AuditAction("msg.cancel", "A delivery that waited was cancelled.", (DELIVERY, CHANNEL, TARGET))
MSG_NOTIFY = AuditAction("msg.notify", "A message went to every target of a profile.", (_PROFILE, OK, _TARGETS))
MSG_TEST = AuditAction("msg.test", "The credentials of a channel were verified.", (CHANNEL, OK))


def record_send(audit: AuditTrail, outcome: str, comment: str, *, source: str, metadata: Mapping[str, object]) -> None:
    """Write one `msg.send` entry; `metadata` contains at least the fields that every entry of that action has."""
    detail = f"{outcome} on {metadata['channel']} to {metadata['target']}{comment}"
    audit.record(MSG_SEND, detail, source=source, metadata=metadata)
