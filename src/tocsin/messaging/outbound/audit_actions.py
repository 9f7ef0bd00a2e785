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

BUS = AuditSource("bus", "an entry from the bus")
QUEUE = AuditSource("queue", "the durable queue")

_PROFILE = AuditField("profile", "name of the profile")
_TARGETS = AuditField("targets", "for each target of the profile, the metadata of `msg.send`")

MSG_SEND = AuditAction(
    "msg.send",
    "A message was sent or rejected. For a queued message: it was sent, or failed permanently.",
    (CHANNEL, TARGET, OK),
    (ATTEMPTS, DURATION_MS, ERROR_CLASS, DELIVERY, STATUS, EVENT),
    "A direct send has `duration_ms`, and `error_class` and `delivery` after a failure; a queued message "
    "has `delivery` and `status`; a direct reply to a command or button has `event` instead of "
    "`attempts`.",
)
MSG_QUEUE = AuditAction("msg.queue", "A message was accepted by the queue.", (DELIVERY, CHANNEL, TARGET))
MSG_REPLAY = AuditAction("msg.replay", "A failed delivery was queued again.", (DELIVERY, CHANNEL, TARGET))
MSG_RETRY = AuditAction(
    "msg.retry", "A waiting delivery was attempted before its next attempt was due.", (DELIVERY, CHANNEL, TARGET)
)
MSG_DISMISS = AuditAction("msg.dismiss", "A failed delivery was dismissed by a person.", (DELIVERY, CHANNEL, TARGET))
MSG_WITHDRAW = AuditAction(
    "msg.withdraw",
    "The message of a key was withdrawn, or could not be.",
    (CHANNEL, TARGET, OK, AuditField("message_key", "key of the message")),
    (ATTEMPTS, DURATION_MS, ERROR_CLASS, DELIVERY),
)
MSG_CANCEL = AuditAction("msg.cancel", "A waiting delivery was cancelled.", (DELIVERY, CHANNEL, TARGET))
MSG_NOTIFY = AuditAction("msg.notify", "A message was sent to every target of a profile.", (_PROFILE, OK, _TARGETS))
MSG_TEST = AuditAction("msg.test", "The credentials of a channel were verified.", (CHANNEL, OK))


def record_send(audit: AuditTrail, outcome: str, comment: str, *, source: str, metadata: Mapping[str, object]) -> None:
    """Write one `msg.send` entry; `metadata` contains at least the fields that every entry of that action has."""
    detail = f"{outcome} on {metadata['channel']} to {metadata['target']}{comment}"
    audit.record(MSG_SEND, detail, source=source, metadata=metadata)
