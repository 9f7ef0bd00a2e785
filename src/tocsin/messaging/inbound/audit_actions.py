"""The audit entries of received messages."""

from tocsin.core.audit.actions import CHANNEL, CHAT, EVENT, OK, SENDER, AuditAction, AuditField, AuditSource

INBOX = AuditSource("inbox", "the inbox, which works off what was received", (EVENT,))

_KIND = AuditField("kind", "what it is: a message, a command, a button …")
_KEYS = AuditField("keys", "by which it is recognised when it comes again")

MSG_RECEIVE = AuditAction(
    "msg.receive", "An event came in that was not there before.", (EVENT, CHANNEL, CHAT, SENDER, _KIND, _KEYS)
)
MSG_HANDLE = AuditAction(
    "msg.handle",
    "The work on a received message failed: a command, a skill or the chat model did, or its answer can never be sent.",
    (EVENT, CHANNEL, CHAT, OK),
)
MSG_BRAKE = AuditAction(
    "msg.brake", "A chat was muted for 5 minutes after too many replies: most likely a loop.", (CHANNEL, CHAT)
)
