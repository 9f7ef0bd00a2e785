"""Definitions of audit entries: actions, sources, and the keys of their metadata.

An action is declared beside the code that writes it, and a feature's in its package. The reference page is generated
from these values, and tests check written entries against them; recording an entry checks nothing. A key has the same
meaning in every action: keys of several actions are declared here, once.
"""

from typing import NamedTuple


class AuditField(NamedTuple):
    """A key in the metadata of audit entries; `doc` describes its value in a few words."""

    name: str
    doc: str


class AuditAction(NamedTuple):
    """An operation that writes audit entries; `doc` is one sentence about the event."""

    name: str
    doc: str
    fields: tuple[AuditField, ...] = ()  # in every entry
    optional: tuple[AuditField, ...] = ()  # in some entries
    note: str = ""  # further facts, such as what is never recorded


class AuditSource(NamedTuple):
    """A component that requests operations; its entries may also have the keys in `optional`."""

    name: str
    doc: str
    optional: tuple[AuditField, ...] = ()


CHANNEL = AuditField("channel", "kind of the channel")
TARGET = AuditField("target", "target of the message on the channel")
CHAT = AuditField("chat", "ID of the chat")
SENDER = AuditField("sender", "ID of the person who wrote the message")
EVENT = AuditField("event", "ID of the received message")
DELIVERY = AuditField("delivery", "ID of the delivery")
RUN = AuditField("run", "ID of the run, or `null` if none was recorded")
SKILL = AuditField("skill", "name of the skill")
OK = AuditField("ok", "whether the operation succeeded")
STATUS = AuditField("status", "final state")
ATTEMPTS = AuditField("attempts", "number of attempts")
TRIGGER = AuditField("trigger", "trigger that started the run")
EXIT_CODE = AuditField("exit_code", "exit code of the process, or `null` if it has none")
DURATION_MS = AuditField("duration_ms", "duration in milliseconds")
ERROR_CLASS = AuditField("error_class", "whether a retry can help, see below")
OUTCOME = AuditField("outcome", "`ok`, `denied` if the call was refused, or `error`")
REASON = AuditField("reason", "reason for the failure or refusal")
ACTOR = AuditField("actor", "requester, for example `token`, or `chat:` and the ID of a chat")
IP = AuditField("ip", "IP address of the client")
REQUEST_ID = AuditField("request_id", "ID of the HTTP request")

# Facts in the audit entry of every ended run; see `runs.document.audit_facts`.
ENDED_RUN = (RUN, TRIGGER, ACTOR, STATUS, OK, DURATION_MS)

# Commands are in cli/ and in the packages of the features.
CLI = AuditSource("cli", "the `tocsin` command")
# Notices come from every part, with or without a feature that keeps them.
NOTICES = AuditSource("notifications", "a component of Tocsin that notifies the operator")
