"""Log when a provider fails, recovers, or throttles the whole account.

Logs once per outage instead of once per message, because the queue retries for a day.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.channels.contract import Receipt
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

# Temporary failures other than throttling.
_TROUBLE = frozenset({FailureKind.TRANSIENT, FailureKind.AMBIGUOUS})
# The minimum time between two log lines about one channel.
QUIET_S = 60.0


@dataclass(frozen=True, slots=True)
class ChannelTroubles:
    """Failing channels by the start of the failure, and throttled ones by its end, in Unix seconds."""

    failing: Mapping[str, float] = field(default_factory=dict)
    throttled: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Outage:
    since: float  # Unix seconds
    began: float  # monotonic
    failures: int = 0
    told: bool = False


def report_troubles(watch: "ChannelWatch | None") -> ChannelTroubles:
    """Return what `watch` has seen, and none if the process does not watch."""
    return watch.troubles() if watch else ChannelTroubles()


class ChannelWatch:
    """Observes the receipts of all attempts in this process, direct and queued, except cancelled ones."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._outages: dict[str, _Outage] = {}
        self._logged_at: dict[str, float] = {}  # monotonic
        self._throttled_until: dict[str, float] = {}  # monotonic

    def note(self, receipt: Receipt) -> None:
        """Record the receipt of one attempt, and log a change."""
        channel, failure = receipt.result.channel, receipt.failure
        if receipt.result.ok:
            self._end_outage(channel)
        elif failure is not None and failure.kind in _TROUBLE:
            self._note_failure(channel, receipt.result.error)
        if failure is not None and failure.whole_account and failure.retry_after_s is not None:
            self._note_throttle(channel, failure, failure.retry_after_s)

    def troubles(self) -> ChannelTroubles:
        """Return the present problems, as far as this process knows."""
        now = self._clock.monotonic()
        ends = {channel: until - now for channel, until in self._throttled_until.items() if until > now}
        return ChannelTroubles(
            {channel: outage.since for channel, outage in self._outages.items()},
            {channel: self._clock.now() + left_s for channel, left_s in ends.items()},
        )

    def _note_failure(self, channel: str, reason: str) -> None:
        now = self._clock.monotonic()
        outage = self._outages.setdefault(channel, _Outage(self._clock.now(), now))
        outage.failures += 1
        if outage.told or now - self._logged_at.get(channel, now - QUIET_S) < QUIET_S:
            return
        outage.told, self._logged_at[channel] = True, now
        log.warning("a channel cannot deliver", extra={"channel": channel, "reason": reason})

    def _end_outage(self, channel: str) -> None:
        outage = self._outages.pop(channel, None)
        if outage is not None and outage.told:
            lasted_s = round(self._clock.monotonic() - outage.began)
            facts = {"channel": channel, "lasted_s": lasted_s, "failed_tries": outage.failures}
            log.warning("a channel delivers again", extra=facts)

    def _note_throttle(self, channel: str, failure: RemoteError, wait_s: float) -> None:
        now = self._clock.monotonic()
        known = self._throttled_until.get(channel, 0.0)
        self._throttled_until[channel] = max(known, now + wait_s)
        if known <= now:
            facts = {"channel": channel, "wait_s": wait_s, "reason": failure.sentence()}
            log.warning("the provider throttles the account", extra=facts)
