"""The audit entries of chat."""

from tocsin.core.audit.actions import AuditAction, AuditField

_CONVERSATION = AuditField("conversation", "the ID of the conversation")
_MESSAGE = AuditField("message", "the ID of the message")
_CHARS = AuditField("chars", "how many characters it has")
_ATTACHMENTS = AuditField("attachments", "how many files it has")
_REPLACED = AuditField("replaced", "how many took the place of others")
_BYTES = AuditField("bytes", "the size of the file")
_MEDIA_TYPE = AuditField("media_type", "what kind of file it is")

_NO_TEXT = "never what was written"
CHAT_CREATE = AuditAction("chat.create", "A conversation was begun.", (_CONVERSATION,), note=_NO_TEXT)
CHAT_SEND = AuditAction(
    "chat.send",
    "A message was put to the chat model.",
    (_CONVERSATION, _MESSAGE, _CHARS, _ATTACHMENTS, _REPLACED),
    note=_NO_TEXT,
)
CHAT_STOP = AuditAction("chat.stop", "An answer that was being written was stopped.", (_CONVERSATION, _MESSAGE))
CHAT_DELETE = AuditAction("chat.delete", "A conversation was deleted.", (_CONVERSATION,), note=_NO_TEXT)
CHAT_ATTACH = AuditAction("chat.attach", "A file was given for a message.", (_BYTES, _MEDIA_TYPE), note=_NO_TEXT)
