"""The declaration of the memory feature."""

from tocsin.core.audit.actions import ACTOR, AuditAction, AuditField, AuditSource
from tocsin.features.contract import BotCommand, Feature, FeatureCommand, Subsystem
from tocsin.features.memory.schema import MIGRATIONS
from tocsin.terminal.command_table import RECORDS

KEY = AuditField("key", "key of the entry")
SCOPE = AuditField("scope", "`global`, `chat:` and the ID of a chat, or `agent:` and the name of a token")
_REMOVED = AuditField("removed", "number of removed entries")
_THRESHOLD = AuditField("threshold", "strength below which entries were removed")
_ADDED = AuditField("added", "number of new entries")
_REPLACED = AuditField("replaced", "number of replaced records")
_KEPT = AuditField("kept", "number of entries skipped because their key exists")
_CREATED = AuditField("created", "whether the record is new")

_NO_VALUE = "The value is not recorded."

MEMORY_SET = AuditAction(
    "memory.set", "An entry was stored or replaced.", (KEY, SCOPE, _CREATED), (ACTOR,), note=_NO_VALUE
)
MEMORY_DELETE = AuditAction(
    "memory.delete",
    "An entry was deleted; `tocsin memory restore KEY` can undo this for 30 days.",
    (KEY, SCOPE),
    (ACTOR,),
)
MEMORY_RESTORE = AuditAction("memory.restore", "A removed entry was restored.", (KEY, SCOPE), (ACTOR,))
MEMORY_PIN = AuditAction("memory.pin", "An entry was pinned, so that it does not decay.", (KEY, SCOPE), (ACTOR,))
MEMORY_UNPIN = AuditAction("memory.unpin", "An entry was unpinned, so that it decays again.", (KEY, SCOPE), (ACTOR,))
MEMORY_DECAY = AuditAction(
    "memory.decay",
    "Decayed and expired entries were removed; they can be restored for 30 days.",
    (_REMOVED, _THRESHOLD),
)
MEMORY_IMPORT = AuditAction(
    "memory.import", "Entries were imported from a file.", (_ADDED, _REPLACED, _KEPT), note=_NO_VALUE
)
MEMORY_MOVE = AuditAction(
    "memory.move",
    "A group got a new chat ID, and its entries were moved.",
    (
        SCOPE,
        AuditField("previous_scope", "previous scope"),
        AuditField("entries", "number of entries, including removed ones"),
    ),
)

CHAT = AuditSource("chat", "a chat model that stores a note", (ACTOR,))
MEMORY = AuditSource("memory", "the daily decay of memory")

FEATURE = Feature(
    name="memory",
    package=__package__,
    summary="notes of people, chats and models, stored by key; unused notes are removed over time",
    page="memory.md",
    tables={"memory": MIGRATIONS},
    audit_actions=(
        MEMORY_SET,
        MEMORY_DELETE,
        MEMORY_RESTORE,
        MEMORY_PIN,
        MEMORY_UNPIN,
        MEMORY_DECAY,
        MEMORY_IMPORT,
        MEMORY_MOVE,
    ),
    audit_sources=(CHAT, MEMORY),
    commands=(FeatureCommand("memory", "store, search and delete notes", group=RECORDS),),
    subsystems=(Subsystem("memory", "Memory", 500, "memory"),),
    bot_commands=(
        BotCommand("remember", "store a note: /remember text"),
        BotCommand("forget", "delete a note: /forget key"),
        BotCommand("memory", "list the notes of this chat"),
    ),
    provides=("chat_notes",),
)
