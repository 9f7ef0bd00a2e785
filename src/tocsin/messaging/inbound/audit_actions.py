"""The audit entries of received messages."""

from tocsin.core.audit.actions import (
    CHANNEL,
    CHAT,
    DELIVERY,
    EVENT,
    OK,
    SENDER,
    TARGET,
    AuditAction,
    AuditField,
    AuditSource,
)

INBOX = AuditSource("inbox", "the inbox, which processes received messages", (EVENT,))

_KIND = AuditField("kind", "kind of the event: a message, a command, a button …")
_KEYS = AuditField("keys", "key that identifies a repeated event")

MSG_RECEIVE = AuditAction("msg.receive", "A new event was received.", (EVENT, CHANNEL, CHAT, SENDER, _KIND, _KEYS))
MSG_HANDLE = AuditAction(
    "msg.handle",
    "A received message could not be handled: a command, a skill or the chat model failed, or its answer "
    "can never be sent.",
    (EVENT, CHANNEL, CHAT, OK),
)
MSG_BRAKE = AuditAction(
    "msg.brake", "A chat was muted for 5 minutes because of too many replies, which indicates a loop.", (CHANNEL, CHAT)
)
MSG_CLICK = AuditAction(
    "msg.click",
    "A person who is signed in to the dashboard pressed a button of a message; `msg.press` says that it has an effect.",
    (CHANNEL, DELIVERY, AuditField("state", "`done`, `received` or `refused`")),
)
MSG_PRESS = AuditAction(
    "msg.press",
    "A button of a message was pressed and has an effect.",
    (EVENT, CHANNEL, TARGET, DELIVERY, AuditField("button", "name of the pressed action"), SENDER),
    note="The value of the action is not recorded.",
)
