"""The declaration of the chat feature."""

from tocsin.core.audit.actions import AuditAction, AuditField
from tocsin.features.chat.schema import MIGRATIONS
from tocsin.features.contract import Feature, LiveTopic

_CONVERSATION = AuditField("conversation", "ID of the conversation")
_MESSAGE = AuditField("message", "ID of the message")
_CHARS = AuditField("chars", "number of characters")
_ATTACHMENTS = AuditField("attachments", "number of files")
_REPLACED = AuditField("replaced", "number of replaced records")
_BYTES = AuditField("bytes", "size of the file")
_MEDIA_TYPE = AuditField("media_type", "type of the file")

_NO_TEXT = "The text is not recorded."
CHAT_CREATE = AuditAction("chat.create", "A conversation was started.", (_CONVERSATION,), note=_NO_TEXT)
CHAT_SEND = AuditAction(
    "chat.send",
    "A message was sent to the chat model.",
    (_CONVERSATION, _MESSAGE, _CHARS, _ATTACHMENTS, _REPLACED),
    note=_NO_TEXT,
)
CHAT_STOP = AuditAction("chat.stop", "An answer in progress was stopped.", (_CONVERSATION, _MESSAGE))
CHAT_DELETE = AuditAction("chat.delete", "A conversation was deleted.", (_CONVERSATION,), note=_NO_TEXT)
CHAT_ATTACH = AuditAction("chat.attach", "A file was uploaded for a message.", (_BYTES, _MEDIA_TYPE), note=_NO_TEXT)

FEATURE = Feature(
    name="chat",
    package=__package__,
    summary="conversations with the chat model in the dashboard; answers continue on the server while the page is "
    "closed",
    page="chat.md",
    tables={"chat": MIGRATIONS},
    audit_actions=(CHAT_CREATE, CHAT_SEND, CHAT_STOP, CHAT_DELETE, CHAT_ATTACH),
    live=(LiveTopic("chat", "conversation"),),
)
