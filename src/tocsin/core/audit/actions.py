"""What audit entries are about, as values: actions, sources, and the keys of their metadata.

An action is declared beside the code that writes it, and a feature's in its folder. The reference page is
printed from these values, and tests check written entries against them; recording an entry checks nothing.
A key names the same thing in every action: those that several actions have are declared here, once.
"""

from typing import NamedTuple


class AuditField(NamedTuple):
    """A key in the metadata of audit entries; `doc` says in a few words what its value is."""

    name: str
    doc: str


class AuditAction(NamedTuple):
    """An operation that leaves audit entries; `doc` is one sentence: what happened."""

    name: str
    doc: str
    fields: tuple[AuditField, ...] = ()  # every entry has them
    optional: tuple[AuditField, ...] = ()  # an entry may have them
    note: str = ""  # what the fields alone do not say, such as what is never recorded


class AuditSource(NamedTuple):
    """A component that asks for operations; its entries may also have the keys in `optional`."""

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
OUTCOME = AuditField("outcome", "`ok`, or `denied` if the operation was refused")
REASON = AuditField("reason", "reason for the failure or refusal")
ACTOR = AuditField("actor", "requester, for example `token`, or `chat:` and the ID of a chat")
IP = AuditField("ip", "IP address of the client")
REQUEST_ID = AuditField("request_id", "ID of the HTTP request")

# What the audit entry of every run that has ended says of it; see `runs.document.audit_facts`.
ENDED_RUN = (RUN, TRIGGER, ACTOR, STATUS, OK, DURATION_MS)

# Commands are in cli/ and in the folders of the features.
CLI = AuditSource("cli", "the `tocsin` command")
# Notices come from every part, with or without a feature that keeps them.
NOTICES = AuditSource("notifications", "a component of Tocsin that notifies the operator")
