"""The checks of `tocsin doctor` for the bot's access control."""

from collections.abc import Iterator, Sequence

from tocsin.bot.door.access import Listed
from tocsin.bot.door.access_store import AccessState
from tocsin.channels.conversation import CheckMessage, ConversationVariables
from tocsin.core.config.settings import Values


def check_admin(settings: Values, variables: ConversationVariables) -> Iterator[CheckMessage]:
    """Check that access requests reach a person."""
    if not settings[variables.admin]:
        detail = f"{variables.admin.name} is not set: access requests are not sent to any chat"
        yield CheckMessage("off", detail, "`tocsin bot access list` shows them")


def check_access(settings: Values, variables: ConversationVariables, chats: Sequence[Listed]) -> Iterator[CheckMessage]:
    """Check that at least one chat may talk to the bot; `chats` are those with a decision made at run time."""
    setting = variables.allowed
    states = {item.chat_id: item.state for item in chats}
    allowed = {chat for chat, state in states.items() if state is AccessState.ALLOWED}
    allowed |= settings[setting] - states.keys()
    if allowed:
        who = f"{len(allowed)} chats" if len(allowed) > 1 else "1 chat"
        yield CheckMessage("ok", f"{who} may use the bot")
    else:
        detail = f"every message is rejected: {setting.name} is empty, and no chat was approved"
        yield CheckMessage("warning", detail, f"set {setting.name}, or: tocsin bot access approve <chat ID>")
    if waiting := list(states.values()).count(AccessState.PENDING):
        requests = "access request waits" if waiting == 1 else "access requests wait"
        yield CheckMessage("ok", f"{waiting} {requests}: tocsin bot access list")
