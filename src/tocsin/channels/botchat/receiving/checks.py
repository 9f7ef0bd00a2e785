"""Check whether updates can arrive, for `tocsin doctor`."""

from collections.abc import Iterator
from pathlib import Path

from tocsin.channels.botchat.api import BotApi
from tocsin.channels.botchat.messages.fields import count, record, time_s, words
from tocsin.channels.botchat.receiving.token_lock import TokenLock
from tocsin.channels.botchat.receiving.webhook import RECENT_S, read_hook
from tocsin.channels.botchat.settings import MODE, WEBHOOK_URL
from tocsin.channels.conversation import CheckMessage
from tocsin.core.config.settings import Values
from tocsin.core.errors import ConfigError
from tocsin.core.http.transport import displayed_host

LONGEST_REASON = 200


def check_mode(config: Values) -> CheckMessage:
    """Check that the settings of the selected mode are complete."""
    try:
        if config[MODE] == "webhook":
            read_hook(config)
    except ConfigError as error:
        return CheckMessage("error", str(error), error.hint)
    return CheckMessage("ok", f"updates come by {config[MODE]}")


def check_poller(config: Values, bot_id: int, directory: Path) -> Iterator[CheckMessage]:
    """Report whether a process on this machine polls; its lock is acquired and released immediately."""
    lock = TokenLock(directory, bot_id)
    if config[MODE] != "polling" or not lock.path.exists():
        return
    if lock.acquire():
        lock.release()
    else:
        yield CheckMessage("ok", "running: another process on this machine polls; further ones wait until it ends")


async def check_webhook(config: Values, api: BotApi, now: float) -> CheckMessage:
    """Compare the mode with the webhook registered at the provider; raises RemoteError."""
    info = record(await api.call("getWebhookInfo"))
    address, waiting = words(info.get("url")), count(info.get("pending_update_count"))
    if config[MODE] == "polling":
        if address:
            detail = f"a webhook at {_host(address)} receives the updates, so polling is impossible"
            return CheckMessage(
                "warning", detail, "stop the program that set it; the bot removes the webhook when it starts"
            )
    elif address != config[WEBHOOK_URL]:
        where = f"the webhook at {_host(address)}" if address else "no webhook"
        return CheckMessage(
            "warning",
            f"the provider uses {where} instead of {WEBHOOK_URL.name}",
            "the bot registers the URL when it starts",
        )
    reason = " ".join(words(info.get("last_error_message"), LONGEST_REASON).split())
    if reason and address and waiting and now - time_s(info.get("last_error_date")) < RECENT_S:
        return CheckMessage(
            "warning",
            f"the provider cannot deliver: {reason}",
            f"make sure that {WEBHOOK_URL.name} reaches the gateway",
        )
    return CheckMessage(
        "ok", f"{waiting} updates are waiting at the provider" if waiting else "no updates are waiting at the provider"
    )


def _host(address: str) -> str:
    """Return the host of a webhook, because its path may contain a secret."""
    try:
        return displayed_host(address)
    except ValueError:
        return "an invalid address"
