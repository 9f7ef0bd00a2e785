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


CHANNEL = AuditField("channel", "the kind of the channel")
TARGET = AuditField("target", "where on the channel the message goes")
CHAT = AuditField("chat", "the ID of the chat")
SENDER = AuditField("sender", "the ID of the person who wrote the message")
EVENT = AuditField("event", "the ID of the received message")
DELIVERY = AuditField("delivery", "the ID of the delivery")
RUN = AuditField("run", "the ID of the run, `null` if none was recorded")
SKILL = AuditField("skill", "the name of the skill")
OK = AuditField("ok", "whether it succeeded")
STATUS = AuditField("status", "the state it ended in")
ATTEMPTS = AuditField("attempts", "how often it was tried")
TRIGGER = AuditField("trigger", "what started the run")
EXIT_CODE = AuditField("exit_code", "of the process, `null` if it has none")
DURATION_MS = AuditField("duration_ms", "how long it took, in milliseconds")
ERROR_CLASS = AuditField("error_class", "what a failure means for another try, see below")
OUTCOME = AuditField("outcome", "`ok`, or `denied` for what was refused")
REASON = AuditField("reason", "why it failed or was refused")
ACTOR = AuditField("actor", "who asked, such as `token`, or `chat:` and the ID of a chat")
IP = AuditField("ip", "the address of the client")
REQUEST_ID = AuditField("request_id", "the ID of the HTTP request")

# What the audit entry of every run that has ended says of it; see `runs.document.audit_facts`.
ENDED_RUN = (RUN, TRIGGER, ACTOR, STATUS, OK, DURATION_MS)

# Commands are in cli/ and in the folders of the features.
CLI = AuditSource("cli", "the `tocsin` command")
# Notices come from every part, with or without a feature that keeps them.
NOTICES = AuditSource("notifications", "a part of Tocsin that tells the operator something")
