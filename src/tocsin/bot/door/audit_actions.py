"""The audit actions of the bot's access control."""

from tocsin.core.audit.actions import ACTOR, CHAT, OUTCOME, SENDER, AuditAction, AuditSource

BOT = AuditSource("bot", "a chat of the bot, or the bot itself", (ACTOR, SENDER))

_BY_ADMIN = "the last two when the admin chat decided"

BOT_REQUEST = AuditAction("bot.request", "An unknown chat asked for access to the bot.", (CHAT,))
BOT_APPROVE = AuditAction("bot.approve", "A chat was let in.", (CHAT,), (ACTOR, SENDER), _BY_ADMIN)
BOT_DENY = AuditAction("bot.deny", "A chat was kept out.", (CHAT,), (ACTOR, SENDER), _BY_ADMIN)
BOT_REMOVE = AuditAction("bot.remove", "A chat was taken off the allowlist.", (CHAT,))
BOT_PRESS_DENIED = AuditAction(
    "bot.press_denied",
    "A button that decides about a chat was pressed in another chat than the admin's.",
    (CHAT, OUTCOME),
    (ACTOR, SENDER),
)
