"""Fetch updates by long polling, with one poller per bot among all processes. Source: docs/facts/botchat.md, "Polling".

An update is confirmed to the provider only after it is stored, so a crash at any moment loses nothing.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tocsin.channels.botchat.api import API_URL, BotApiError
from tocsin.channels.botchat.inbound import BotchatInbound
from tocsin.channels.botchat.messages.fields import number, records
from tocsin.channels.botchat.messages.updates import ALLOWED_UPDATES
from tocsin.channels.botchat.receiving.liveness import Liveness, ReceiveStatus, ReceivingState
from tocsin.channels.botchat.receiving.poll_backoff import PollBackoff
from tocsin.channels.botchat.receiving.poll_lock import PollLock
from tocsin.channels.botchat.receiving.token_lock import LockError, TokenLock
from tocsin.channels.conversation import TellAdmin, UpdateLeaseLostError, UpdateSink
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, StoreUnavailableError
from tocsin.core.http.transport import displayed_host
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

POLL_TIMEOUT_S = 30
ANSWER_TIMEOUT_S = 10  # in addition to the poll's own time-out
WATCHDOG_S = 90.0
MOST_UPDATES = 100  # getUpdates, limit
LEAST_POLL_S = 0.25  # between two polls without updates
LOCK_EVERY_S = 3.0
CONFIRM_S = 3.0


class Poller:
    """Fetches updates until it is stopped; every failure is retried, and `state` reports it."""

    def __init__(
        self,
        inbound: BotchatInbound,
        inbox: UpdateSink,
        clock: Clock,
        directory: Path,
        tell_admin: TellAdmin,
        *,
        watchdog_s: float = WATCHDOG_S,
        confirm_s: float = CONFIRM_S,
    ) -> None:
        self._inbound = inbound
        self._api = inbound.api
        self._inbox = inbox
        self._clock = clock
        self._watchdog_s, self._confirm_s = watchdog_s, confirm_s
        self._liveness = Liveness("polling", clock, tell_admin)
        self._backoff = PollBackoff()
        self._stop = StopEvent()
        self._loop = ServiceLoop(
            "the poller", self._step, clock, on_failure=self._failed, pause=self._pause, stop=self._stop
        )
        # Update IDs are unique per bot and per server.
        self._cursor = f"updates:{inbound.bot_id}@{displayed_host(inbound.config[API_URL])}"
        self._lock = PollLock(inbox.lease(self._cursor), TokenLock(directory, inbound.bot_id), clock)
        self._offset: int | None = None
        self._offset_known = False
        self._limit = MOST_UPDATES
        self._behind = True  # the next updates were sent while the program was down
        self._webhook_removed = False

    @property
    def state(self) -> ReceivingState:
        """The current state."""
        return self._liveness.state

    def stop(self) -> None:
        """Stop fetching; `run` returns soon."""
        self._loop.stop()

    async def run(self) -> None:
        """Fetch until `stop`, once no other process does."""
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(self._lock.keep(self._stop))
                await self._loop.run()
                await self._confirm()
                keeping.cancel()
        finally:
            await self._lock.release()
            self._liveness.stop()

    async def _step(self) -> float:
        """Fetch once; without the lock, try to acquire it."""
        if not self._lock.held:
            return 0.0 if await self._take_lock() else LOCK_EVERY_S
        async with asyncio.timeout(self._watchdog_s):
            finished = await self._poll()
        if finished:
            await self._record_success()
        return 0.0

    async def _take_lock(self) -> bool:
        held = await self._lock.acquire()
        if held:
            self._offset_known = False  # another process may have advanced it
            self._liveness.start()
        else:
            self._liveness.wait_for_lock(f"another process {self._lock.where} polls with the same token")
        return held

    async def _poll(self) -> bool:
        """Fetch and store once; return whether the poll completed."""
        if not self._offset_known:
            self._offset, self._offset_known = await self._inbox.cursor(self._cursor), True
        # After the start and after an outage, poll without waiting: the state is then known immediately instead of 30 s
        # later, and an empty response shows that no updates are pending.
        timeout_s = 0 if self._behind and self.state.status is not ReceiveStatus.CONFLICT else POLL_TIMEOUT_S
        begun_at = self._clock.monotonic()
        try:
            updates = await self._stop.or_done(self._fetch(timeout_s))
        except BotApiError as refusal:
            if refusal.error_code != 409 or not refusal.mentions("webhook is active") or self._webhook_removed:
                raise
            await self._remove_webhook()
            return False
        if updates is None:
            return False
        if updates:
            await self._store(updates)
        elif timeout_s and self._clock.monotonic() - begun_at < LEAST_POLL_S:
            await self._liveness.pause(LEAST_POLL_S, self._stop)  # a server or proxy that does not wait
        self._behind = self._behind and bool(updates)
        self._limit = min(self._limit * 2, MOST_UPDATES)
        return True

    async def _fetch(self, timeout_s: int) -> list[dict[str, Any]]:
        found = await self._api.call(
            "getUpdates",
            offset=self._offset,
            limit=self._limit,
            timeout=timeout_s,
            allowed_updates=ALLOWED_UPDATES,
            read_timeout_s=timeout_s + ANSWER_TIMEOUT_S,
        )
        updates = records(found)
        if not isinstance(found, list) or len(updates) != len(found):
            raise _invalid_response("the updates are not a list of objects")
        return updates

    async def _store(self, updates: Sequence[Mapping[str, Any]]) -> None:
        """Store the messages and the next offset in one transaction.

        The ID of the last update counts even if it is lower than earlier ones: after a quiet week, or on another
        server, the provider restarts its numbering.
        """
        last = number(updates[-1].get("update_id"))
        if last is None:
            raise _invalid_response("an update has no ID")
        read = [message for update in updates if (message := await self._inbound.read(update))]
        messages = [replace(message, waited=self._behind) for message in read]
        await self._inbox.accept(messages, cursor=(self._cursor, last + 1), lease=self._lock.token)
        repeated, self._offset = self._offset == last + 1, last + 1
        if repeated:
            raise _invalid_response("it repeats confirmed updates")

    async def _remove_webhook(self) -> None:
        """Remove a webhook, so that updates can be fetched; pending updates are kept."""
        await self._api.call("deleteWebhook", drop_pending_updates=False)
        self._webhook_removed = True
        log.warning("the webhook was removed, because the bot polls", extra={"bot_id": self._inbound.bot_id})

    async def _record_success(self) -> None:
        if self._backoff.succeeded(self._clock.monotonic()):
            self._webhook_removed = False
        await self._liveness.record_success()

    async def _failed(self, error: Exception, _: int) -> float:
        if isinstance(error, UpdateLeaseLostError):
            self._lock.lose()
            log.warning("another process fetches updates now", extra={"bot_id": self._inbound.bot_id})
            return LOCK_EVERY_S
        if isinstance(error, LockError) or (isinstance(error, StoreUnavailableError) and not self._lock.held):
            await self._liveness.record_failure(ReceiveStatus.FAILING, error.sentence())
            return LOCK_EVERY_S
        self._behind = True
        if isinstance(error, RemoteError) and error.kind is FailureKind.AMBIGUOUS:
            # The response may have been too large: a hundred long texts.
            self._limit = max(1, self._limit // 2)
        decision = self._backoff.judge(error, self._clock.monotonic())
        await self._liveness.record_failure(decision.status, decision.problem)
        return decision.wait_s

    async def _pause(self, seconds: float) -> None:
        await self._liveness.pause(seconds, self._stop)

    async def _confirm(self) -> None:
        """Confirm the updates stored last; otherwise they are delivered again, and discarded as duplicates."""
        if self._offset is None or not self._lock.held or not self.state.is_healthy:
            return
        try:
            async with asyncio.timeout(self._confirm_s):
                await self._api.call("getUpdates", offset=self._offset, limit=1, timeout=0)
        except (RemoteError, TimeoutError) as error:
            reason = str(error) or "no response in time"
            log.info("the last updates could not be confirmed", extra={"reason": reason})


def _invalid_response(what: str) -> ChannelError:
    return ChannelError(
        f"the response of the Bot API is invalid: {what}", hint=f"check {API_URL.name}", kind=FailureKind.TRANSIENT
    )
