"""Settings of the bot and of the botchat receiver."""

import re
from pathlib import Path

from tocsin.channels.model import PLAIN
from tocsin.core.config.variables import Variable, boolean, choice, directory, integer

LARGEST_CHAT_ID = 2**52 - 1  # Bot API: identifiers have at most 52 significant bits

PARSE_MODES = ("Markdown", "MarkdownV2", "HTML", PLAIN)


def parse_mode(value: str) -> str:
    """Read a parse mode in any letter case."""
    for mode in PARSE_MODES:
        if value.strip().lower() == mode.lower():
            return mode
    raise ValueError(f"one of: {', '.join(PARSE_MODES)}")


PARSE_MODE = Variable(
    "BOTCHAT_PARSE_MODE",
    parse_mode,
    "Markdown",
    "Default format of texts: `Markdown`, `MarkdownV2`, `HTML`, `plain`.",
)


def chat_id(value: str) -> str:
    """Parse the ID of one chat; groups have negative IDs."""
    stripped = value.strip()
    if not re.fullmatch(r"-?[1-9][0-9]{0,15}", stripped) or abs(int(stripped)) > LARGEST_CHAT_ID:
        raise ValueError("a chat ID, for example 123456789 or -1001234567890")
    return stripped


def chat_ids(value: str) -> frozenset[str]:
    """Parse a comma-separated list of chat IDs."""
    try:
        return frozenset(chat_id(item) for item in value.split(",") if item.strip())
    except ValueError:
        raise ValueError("chat IDs separated by commas, for example 123456789, -1001234567890") from None


def webhook_secret(value: str) -> str:
    """Parse the secret that the provider sends in a header of every call."""
    stripped = value.strip()
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", stripped):  # setWebhook, secret_token
        raise ValueError("1 to 256 of the characters A-Z, a-z, 0-9, _ and -")
    return stripped


def webhook_url(value: str) -> str:
    """Parse the public address at which the provider reaches the gateway."""
    stripped = value.strip()
    if not re.fullmatch(r"https://[^\s/:@?#]+(:(443|80|88|8443))?(/[^\s?#]*)?", stripped):  # setWebhook, url
        raise ValueError("an https URL on port 443, 80, 88 or 8443, for example https://example.org/webhook/botchat")
    return stripped


def _weak_admin(chat: str) -> str:
    if not chat.startswith("-"):
        return ""
    return (
        "BOTCHAT_ADMIN_CHAT_ID is a group, and all its members can approve access requests; use the private "
        "chat of one person"
    )


ALLOWED_CHAT_IDS: Variable[frozenset[str]] = Variable(
    "ALLOWED_CHAT_IDS",
    chat_ids,
    frozenset(),
    "Chats that may use the bot, separated by commas; others need approval.",
    shown_default="none",
)
DEFAULT_CHAT_ID = Variable(
    "BOTCHAT_DEFAULT_CHAT_ID", chat_id, "", "Chat for the bot's own notifications if there is no admin chat."
)
ADMIN_CHAT_ID = Variable(
    "BOTCHAT_ADMIN_CHAT_ID",
    chat_id,
    "",
    "Chat that receives access requests and can approve them.",
    weakness=_weak_admin,
)
SESSION_TTL_S = Variable(
    "BOTCHAT_SESSION_TTL",
    integer(1, 10**9),
    3600,
    "Seconds without messages after which the history of a chat is deleted.",
)
MAX_HISTORY = Variable(
    "BOTCHAT_MAX_HISTORY", integer(1, 10_000), 20, "Maximum number of messages in the history of a chat."
)
MAX_PER_CHAT = Variable(
    "BOTCHAT_MAX_PER_CHAT", integer(1, 1000), 2, "Maximum number of answers in progress at the same time, per chat."
)
MAX_GLOBAL = Variable(
    "BOTCHAT_MAX_GLOBAL",
    integer(1, 10_000),
    5,
    "Maximum number of answers in progress at the same time, for all chats.",
)
QUEUE_OVERFLOW = Variable(
    "BOTCHAT_QUEUE_OVERFLOW",
    integer(0, 100_000),
    10,
    "Maximum number of waiting messages per chat; further ones are rejected.",
)
MODE = Variable(
    "BOTCHAT_MODE",
    choice("polling", "webhook"),
    "polling",
    "How updates are received: `polling` fetches them, `webhook` lets Telegram call the gateway.",
)
WEBHOOK_SECRET = Variable(
    "BOTCHAT_WEBHOOK_SECRET",
    webhook_secret,
    "",
    "Secret that every request to `/webhook/botchat` must contain; without it, all requests are rejected.",
    secret=True,
    min_length=16,
)
WEBHOOK_URL = Variable(
    "BOTCHAT_WEBHOOK_URL", webhook_url, "", "Public https URL of `/webhook/botchat`, registered at start."
)
STREAMING = Variable("BOTCHAT_STREAMING", boolean, True, "Stream answers by editing a preview message.")
MEMORY = Variable(
    "BOTCHAT_MEMORY",
    choice("off", "recall", "on"),
    "recall",
    "Use of memory by the chat model: `recall` gives it the notes stored with `/remember`, `on` also lets "
    "it store notes, `off` disables both.",
)
LOCAL_FILES_DIR: Variable[Path | None] = Variable(
    "BOTCHAT_LOCAL_FILES_DIR",
    directory,
    None,
    "Directory of your own Bot API server in local mode; only files below it are read.",
    shown_default="none",
)

RECEIVING = (
    ALLOWED_CHAT_IDS,
    DEFAULT_CHAT_ID,
    ADMIN_CHAT_ID,
    SESSION_TTL_S,
    MAX_HISTORY,
    MAX_PER_CHAT,
    MAX_GLOBAL,
    QUEUE_OVERFLOW,
    MODE,
    WEBHOOK_SECRET,
    WEBHOOK_URL,
    STREAMING,
    MEMORY,
    LOCAL_FILES_DIR,
)
