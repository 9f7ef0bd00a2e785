"""The audit entries of memory; none has the value of an entry."""

from tocsin.core.audit.actions import ACTOR, AuditAction, AuditField, AuditSource

KEY = AuditField("key", "the key of the entry")
SCOPE = AuditField("scope", "`global`, or `chat:` and the ID of a chat")
_REMOVED = AuditField("removed", "how many entries were removed")
_THRESHOLD = AuditField("threshold", "the strength below which entries were removed")
_ADDED = AuditField("added", "how many entries were new")
_REPLACED = AuditField("replaced", "how many took the place of others")
_KEPT = AuditField("kept", "how many entries were left out because their key exists")
_CREATED = AuditField("created", "whether there was none of that name")

_NO_VALUE = "never the value"

MEMORY_SET = AuditAction(
    "memory.set", "An entry was stored or replaced.", (KEY, SCOPE, _CREATED), (ACTOR,), note=_NO_VALUE
)
MEMORY_DELETE = AuditAction(
    "memory.delete",
    "An entry was deleted; for 30 days `tocsin memory restore KEY` undoes that.",
    (KEY, SCOPE),
    (ACTOR,),
)
MEMORY_RESTORE = AuditAction("memory.restore", "A removed entry was brought back.", (KEY, SCOPE), (ACTOR,))
MEMORY_PIN = AuditAction("memory.pin", "An entry was pinned: it does not fade.", (KEY, SCOPE), (ACTOR,))
MEMORY_UNPIN = AuditAction("memory.unpin", "An entry fades again from now on.", (KEY, SCOPE), (ACTOR,))
MEMORY_DECAY = AuditAction(
    "memory.decay", "Faded and expired entries were removed; they can be restored for 30 days.", (_REMOVED, _THRESHOLD)
)
MEMORY_IMPORT = AuditAction(
    "memory.import", "Entries were read from a file.", (_ADDED, _REPLACED, _KEPT), note=_NO_VALUE
)

MEMORY_MOVE = AuditAction(
    "memory.move",
    "A group became another chat, and its entries followed.",
    (
        SCOPE,
        AuditField("previous_scope", "the scope before"),
        AuditField("entries", "how many entries, removed ones included"),
    ),
)

CHAT = AuditSource("chat", "a chat model that stores what it learns", (ACTOR,))
MEMORY = AuditSource("memory", "the daily decay of memory")

ACTIONS = (
    MEMORY_SET,
    MEMORY_DELETE,
    MEMORY_RESTORE,
    MEMORY_PIN,
    MEMORY_UNPIN,
    MEMORY_DECAY,
    MEMORY_IMPORT,
    MEMORY_MOVE,
)
