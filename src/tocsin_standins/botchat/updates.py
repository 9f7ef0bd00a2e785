"""Deliver the updates of the Telegram stand-in: by long polling or a webhook."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

import aiohttp

from tocsin_standins.botchat.world import refuse

# A larger offset, such as one from another server, is ignored (TDLib, TQueue::get).
FARTHEST_OFFSET = 10
MAX_TIMEOUT_S = 50  # getUpdates: the server caps `timeout`
DEFAULT_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member", "channel_post")
WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)
OTHER_POLLER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_SET = "Conflict: terminated by setWebhook request"
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105  # a header's name


class Updates:
    """The queue of one bot. An update stays until a poll's offset confirms it or the webhook answers 2xx.

    `retry_s` is the webhook's first delay; it doubles up to a minute.
    """

    def __init__(self, *, retry_s: float = 1.0, clock: Callable[[], float] = time.time) -> None:
        self.webhook: dict[str, Any] = {}
        self.queue: list[dict[str, Any]] = []
        self.polls = 0
        self._allowed: tuple[str, ...] = DEFAULT_UPDATES
        self._next_id = 1
        self._poller: asyncio.Future[str] | None = None
        self._news = asyncio.Event()
        self._retry_s = retry_s
        self._clock = clock

    def add(self, **update: Any) -> dict[str, Any]:
        """Queue an update (`message=…`) if its kind is subscribed; return it with its ID."""
        made = {"update_id": self._next_id, **update}
        self._next_id += 1
        if next(iter(update)) in self._allowed:
            self.queue.append(made)
            self._news.set()
            self._wake("")
        return made

    def skip_ids(self, count: int) -> None:
        """Skip update IDs, as the product does after a quiet week."""
        self._next_id += count

    async def poll(self, offset: int, limit: int, timeout_s: float, allowed: list[str] | None) -> list[dict[str, Any]]:
        """Answer `getUpdates`; a newer poll ends this one with 409."""
        self.polls += 1
        if self.webhook:
            raise refuse(WEBHOOK_ACTIVE)
        self._wake(OTHER_POLLER)
        self._confirm(offset)
        self._allow(allowed)
        if not self.queue and timeout_s > 0:
            await self._wait(min(timeout_s, MAX_TIMEOUT_S))
        return self.queue[: max(1, min(limit, 100))]

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            self.queue = self.queue[offset:]
        elif 0 < offset <= self._next_id + FARTHEST_OFFSET:
            self.queue = [update for update in self.queue if update["update_id"] >= offset]

    def _allow(self, allowed: list[str] | None) -> None:
        if allowed is not None:
            self._allowed = tuple(allowed) or DEFAULT_UPDATES

    async def _wait(self, seconds: float) -> None:
        mine: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._poller = mine
        try:
            async with asyncio.timeout(seconds):
                if conflict := await mine:
                    raise refuse(conflict)
        except TimeoutError:
            pass
        finally:
            if self._poller is mine:
                self._poller = None

    def _wake(self, conflict: str) -> None:
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(conflict)

    def set_webhook(self, args: dict[str, Any], *, insecure: bool) -> None:
        """Switch from polling to a webhook; an empty URL removes it."""
        url, secret = str(args.get("url") or ""), str(args.get("secret_token") or "")
        if not url:
            self.delete_webhook(drop_pending=False)
            return
        if not url.startswith("https://") and not (insecure and url.startswith("http://")):
            raise refuse("Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
            raise refuse("Bad Request: secret token contains unallowed characters")
        self._allow(args.get("allowed_updates"))
        self.webhook = {"url": url, "secret": secret, "max_connections": args.get("max_connections") or 40}
        if args.get("drop_pending_updates"):
            self.queue.clear()
        self._wake(WEBHOOK_SET)
        self._news.set()

    def delete_webhook(self, *, drop_pending: bool) -> None:
        """Go back to polling."""
        self.webhook = {}
        if drop_pending:
            self.queue.clear()

    def webhook_info(self) -> dict[str, Any]:
        """Return the Bot API's WebhookInfo."""
        info = {"url": "", "has_custom_certificate": False, "pending_update_count": len(self.queue)}
        shown = {name: value for name, value in self.webhook.items() if name != "secret"}
        return info | shown

    def end(self) -> None:
        """End waiting polls with an empty answer."""
        self._wake("")
        self._news.set()

    async def deliver(self, pause: Callable[[float], Any], closing: asyncio.Event) -> None:
        """Post queued updates to the webhook in order, each until it is answered with 2xx."""
        timeout = aiohttp.ClientTimeout(total=10)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            delay_s = self._retry_s
            while not closing.is_set():
                if not self.webhook or not self.queue:
                    self._news.clear()
                    await self._news.wait()
                elif await self._post(session, self.queue[0]):
                    delay_s = self._retry_s
                else:
                    await pause(delay_s)
                    delay_s = min(delay_s * 2, 60)

    async def _post(self, session: aiohttp.ClientSession, update: dict[str, Any]) -> bool:
        headers = {SECRET_HEADER: self.webhook["secret"]} if self.webhook["secret"] else {}
        hook = self.webhook
        try:
            url = hook["url"]
            async with session.post(url, json=update, headers=headers, allow_redirects=False) as answer:
                problem = "" if answer.ok else f"Wrong response from the webhook: {answer.status} {answer.reason}"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem = f"Connection failed: {type(error).__name__}"
        if problem:
            hook |= {"last_error_date": int(self._clock()), "last_error_message": problem}
            return False
        if update in self.queue:
            self.queue.remove(update)
        return True
