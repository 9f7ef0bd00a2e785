"""Share the waits that providers request after direct sends, for one target or for a whole account."""

import logging
from math import inf
from typing import ClassVar

from tocsin.channels.contract import Receipt, SendResult
from tocsin.core.errors import ChannelError, FailureKind, TocsinError
from tocsin.core.text.strings import normalise, truncate
from tocsin.core.time.clock import Clock
from tocsin.delivery.store import DeliveryStore

log = logging.getLogger(__name__)

# The longest delay until a hold set by another process is known here.
REFRESH_EVERY_S = 0.5
MAX_REASON = 200
# The longest wait that the queue accepts from a provider.
LONGEST_S = 3600.0


class AccountHolds:
    """The holds of whole channels, which all processes share through the queue's store.

    While the store cannot be read, the holds known to this process apply: the store never delays a message.
    """

    # The longest time that a direct send waits for the store; sending matters more than a hold.
    store_timeout_s: ClassVar = 0.25

    def __init__(self, store: DeliveryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[float, str]] = {}  # by channel: the end (monotonic) and the reason
        self._refreshed_at: dict[str, float] = {}  # monotonic
        self._unpublished: set[str] = set()  # channels whose hold could not be stored

    async def refusal(self, channel: str, at_most_s: float) -> ChannelError | None:
        """Return the reason why a channel cannot send now, or `None` if it can within `at_most_s` seconds."""
        now = self._clock.monotonic()
        if now - self._refreshed_at.get(channel, -inf) >= REFRESH_EVERY_S:
            self._refreshed_at[channel] = now
            await self._refresh(channel)
        until, reason = self._known.get(channel, (0.0, ""))
        left_s = until - self._clock.monotonic()
        if left_s <= at_most_s:
            return None
        return ChannelError(
            f"the account is on hold for another {left_s:.0f} s: {reason}",
            hint="queue the message, and it is sent when the hold ends",
            kind=FailureKind.RATE_LIMITED,
            retry_after_s=left_s,
            whole_account=True,
        )

    async def note(self, receipt: Receipt) -> None:
        """Record the receipt of a direct send, and share the wait that the provider requested.

        A wait for a single target holds the queue only; direct sends to that target continue, because they have no
        pace.
        """
        failure, channel = receipt.failure, receipt.result.channel
        if failure is None or not failure.retry_after_s:
            return
        reason = truncate(str(failure), MAX_REASON)
        if not failure.whole_account:
            await self._hold_target(receipt.result, failure.retry_after_s, reason)
            return
        until = self._clock.monotonic() + failure.retry_after_s
        if until > self._known.get(channel, (0.0, ""))[0]:
            self._known[channel] = until, reason
            await self._publish(channel)

    async def _hold_target(self, result: SendResult, wait_s: float, reason: str) -> None:
        try:
            await self._store.hold(result.channel, normalise(result.target), min(wait_s, LONGEST_S), reason)
        except TocsinError as error:
            facts = {"channel": result.channel, "wait_s": round(wait_s), "reason": error.sentence()}
            log.warning("the queue could not be informed that a target is throttled", extra=facts)

    async def _publish(self, channel: str) -> None:
        until, reason = self._known[channel]
        left_s = until - self._clock.monotonic()
        self._unpublished.discard(channel)
        if left_s <= 0:
            return
        try:
            await self._store.hold_account(channel, left_s, reason)
        except TocsinError as error:
            self._unpublished.add(channel)
            facts = {"channel": channel, "wait_s": round(left_s), "reason": error.sentence()}
            log.warning("other processes could not be informed that an account is throttled", extra=facts)

    async def _refresh(self, channel: str) -> None:
        import asyncio

        try:
            async with asyncio.timeout(self.store_timeout_s):
                if channel in self._unpublished:
                    await self._publish(channel)
                hold = (await self._store.account_holds([channel])).get(channel)
        except (TocsinError, TimeoutError) as error:
            log.debug("the holds of a channel cannot be read", extra={"channel": channel, "reason": str(error)})
            return
        if hold is not None:
            left_s = hold.until - self._clock.now()
            self._known[channel] = self._clock.monotonic() + left_s, hold.reason
        elif channel not in self._unpublished:
            self._known.pop(channel, None)
