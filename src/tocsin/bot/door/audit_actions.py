"""The audit actions of the bot's access control."""

from tocsin.core.audit.actions import ACTOR, CHAT, OUTCOME, SENDER, AuditAction, AuditSource

BOT = AuditSource("bot", "a chat of the bot, or the bot itself", (ACTOR, SENDER))

_BY_ADMIN = "The last two only for a decision by the admin chat."

BOT_REQUEST = AuditAction("bot.request", "An unknown chat asked for access to the bot.", (CHAT,))
BOT_APPROVE = AuditAction("bot.approve", "A chat was allowed.", (CHAT,), (ACTOR, SENDER), _BY_ADMIN)
BOT_DENY = AuditAction("bot.deny", "A chat was denied.", (CHAT,), (ACTOR, SENDER), _BY_ADMIN)
BOT_REMOVE = AuditAction("bot.remove", "A chat was removed from the allowlist.", (CHAT,))
BOT_PRESS_DENIED = AuditAction(
    "bot.press_denied",
    "A button that decides about a chat was pressed outside the admin chat.",
    (CHAT, OUTCOME),
    (ACTOR, SENDER),
)
