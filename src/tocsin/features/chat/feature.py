"""The declaration of the chat feature."""

from tocsin.features.chat.audit_actions import CHAT_ATTACH, CHAT_CREATE, CHAT_DELETE, CHAT_SEND, CHAT_STOP
from tocsin.features.chat.schema import MIGRATIONS
from tocsin.features.contract import Feature, LiveTopic

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
