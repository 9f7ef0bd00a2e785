"""What is wrong with how the bot is set up, and how receiving for it stands: remarks for `tocsin doctor`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.bot.door.access import Listed
from tocsin.bot.door.access_store import AccessState
from tocsin.channels.botchat.inbound import BotchatInbound
from tocsin.channels.botchat.messages.fields import count, record, time_s, words
from tocsin.channels.botchat.receiving.token_lock import TokenLock
from tocsin.channels.botchat.receiving.webhook import RECENT_S, hook_of
from tocsin.channels.botchat.settings import ADMIN_CHAT_ID, ALLOWED_CHAT_IDS, MODE, WEBHOOK_URL
from tocsin.core.config.settings import Values
from tocsin.core.errors import ConfigError
from tocsin.core.http.transport import host_of

LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class CheckMessage:
    """One thing that was looked at; `state` is ok, warning, error or off."""

    state: str
    detail: str
    fix: str = ""


def check_settings(settings: Values) -> Iterator[CheckMessage]:
    """Check that updates can come, and that somebody is told who wants to talk to the bot."""
    try:
        if settings[MODE] == "webhook":
            hook_of(settings)
    except ConfigError as error:
        yield CheckMessage("error", str(error), error.hint)
    else:
        yield CheckMessage("ok", f"updates come by {settings[MODE]}")
    if not settings[ADMIN_CHAT_ID]:
        detail = f"{ADMIN_CHAT_ID.name} is not set: nobody is told of access requests"
        yield CheckMessage("off", detail, "`tocsin bot access list` shows them")


def check_access(settings: Values, chats: Sequence[Listed]) -> Iterator[CheckMessage]:
    """Check that anybody may talk to the bot; `chats` are those that were decided about at run time."""
    listed = {item.chat_id: item.standing for item in chats}
    allowed = {chat for chat, standing in listed.items() if standing is AccessState.ALLOWED}
    allowed |= settings[ALLOWED_CHAT_IDS] - listed.keys()
    if allowed:
        yield CheckMessage(
            "ok", f"{len(allowed)} chats may talk to it" if len(allowed) > 1 else "one chat may talk to it"
        )
    else:
        detail = f"every message is rejected: {ALLOWED_CHAT_IDS.name} is empty and no chat was approved"
        yield CheckMessage("warning", detail, f"set {ALLOWED_CHAT_IDS.name}, or: tocsin bot access approve <chat ID>")
    if waiting := list(listed.values()).count(AccessState.PENDING):
        wait = "access request waits" if waiting == 1 else "access requests wait"
        yield CheckMessage("ok", f"{waiting} {wait}: tocsin bot access list")


def check_poller(settings: Values, inbound: BotchatInbound, directory: Path) -> Iterator[CheckMessage]:
    """Tell whether a process on this machine polls already; its lock is tried, and given back at once."""
    lock = TokenLock(directory, inbound.bot_id)
    if settings[MODE] != "polling" or not lock.path.exists():
        return
    if lock.acquire():
        lock.release()
    else:
        yield CheckMessage("ok", "it runs: a process on this machine polls, and any other one waits for it to end")


async def check_provider(settings: Values, inbound: BotchatInbound, now: float) -> CheckMessage:
    """Compare the mode with what the provider does about updates; raises RemoteError."""
    info = record(await inbound.api.call("getWebhookInfo"))
    address, waiting = words(info.get("url")), count(info.get("pending_update_count"))
    if settings[MODE] == "polling":
        if address:
            detail = f"a webhook at {_host(address)} gets the updates, so that none can be fetched"
            return CheckMessage("warning", detail, "stop the program that set it; the bot removes it when it starts")
    elif address != settings[WEBHOOK_URL]:
        where = f"the webhook at {_host(address)}" if address else "no webhook"
        return CheckMessage(
            "warning", f"the provider knows {where}, not {WEBHOOK_URL.name}", "the bot sets it at its start"
        )
    reason = " ".join(words(info.get("last_error_message"), LONGEST_REASON).split())
    if reason and address and waiting and now - time_s(info.get("last_error_date")) < RECENT_S:
        return CheckMessage(
            "warning", f"the provider cannot deliver: {reason}", f"make {WEBHOOK_URL.name} reach the gateway"
        )
    return CheckMessage(
        "ok", f"{waiting} updates wait at the provider" if waiting else "no update waits at the provider"
    )


def _host(address: str) -> str:
    """Return where a webhook leads: its path may carry a secret."""
    try:
        return host_of(address)
    except ValueError:
        return "an address that makes no sense"
