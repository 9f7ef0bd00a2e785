"""Metrics for Prometheus, in its text format and as OpenMetrics; each serving process has one registry."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics import exposition as open_metrics
from starlette.responses import Response

from tocsin import __version__
from tocsin.channels.contract import Receipt
from tocsin.channels.registry import Registry
from tocsin.core.errors import TocsinError, UnknownChannelError
from tocsin.core.metrics import Metric, MetricType
from tocsin.core.time.clock import Clock
from tocsin.delivery.store import DeliveryStore
from tocsin.messaging.inbound.handling import HandlingStatus
from tocsin.messaging.inbound.model import Backlog
from tocsin.messaging.outbound.channel_watch import ChannelTroubles
from tocsin.web.http.stored_metrics import StoredMetrics

T = TypeVar("T")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text"
# Providers answer in tenths of seconds; the tail shows waits for Retry-After and time-outs.
_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

NO_TROUBLES = ChannelTroubles()

_COUNTER, _HISTOGRAM = MetricType.COUNTER, MetricType.HISTOGRAM
BUILD = Metric("tocsin_build_info", "Version of Tocsin.", ("version",), per_process=True)
SENDS = Metric(
    "tocsin_sends_total",
    "Tries, direct and queued, by channel and outcome: sent, permanent, transient, rate_limited or ambiguous.",
    ("channel", "outcome"),
    _COUNTER,
    per_process=True,
)
SEND_SECONDS = Metric("tocsin_send_seconds", "Duration of tries.", ("channel",), _HISTOGRAM, per_process=True)
ATTEMPTS = Metric("tocsin_send_attempts_total", "Calls to the provider.", ("channel",), _COUNTER, per_process=True)
DELIVERIES = Metric("tocsin_deliveries", "Deliveries of the record by status.", ("status",))
RECEIVED = Metric(
    "tocsin_received_total",
    "Received events by result: new, duplicate, stale (signed too long ago) or ignored.",
    ("channel", "kind", "result"),
    _COUNTER,
    per_process=True,
)
REJECTED = Metric(
    "tocsin_rejected_total", "Webhook calls that failed verification.", ("channel",), _COUNTER, per_process=True
)
HANDLED = Metric(
    "tocsin_handled_total",
    "Received events whose work has ended, by ending: answered, ignored or failed.",
    ("channel", "ending"),
    _COUNTER,
    per_process=True,
)
INBOX = Metric("tocsin_inbox_open", "Received events in progress by status.", ("status",))
INBOX_OLDEST = Metric("tocsin_inbox_oldest_seconds", "Age of the oldest received event in progress.")
FAILING = Metric(
    "tocsin_channel_failing_seconds",
    "Time since sends on the channel began to fail; only while every one fails.",
    ("channel",),
    per_process=True,
)
THROTTLED = Metric(
    "tocsin_channel_throttled_seconds",
    "Time until the provider accepts requests of the account again; only while it limits the account.",
    ("channel",),
)
REQUESTS = Metric(
    "tocsin_http_requests_total",
    "Answered requests by route and status.",
    ("route", "status"),
    _COUNTER,
    per_process=True,
)

CORE_METRICS = (
    BUILD, SENDS, SEND_SECONDS, ATTEMPTS, DELIVERIES, RECEIVED, REJECTED, HANDLED, INBOX, INBOX_OLDEST, FAILING,
    THROTTLED, REQUESTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Collected:
    """The samples of one scrape, in the form of a registry."""

    registry: CollectorRegistry
    stored: Sequence[Family]

    def collect(self) -> Iterator[Family]:
        yield from self.registry.collect()
        yield from self.stored


class Metrics:
    """Counts sends and requests. Labels are kinds, outcomes and statuses, never targets or texts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._make(Gauge, BUILD).labels(__version__).set(1)
        self._sends = self._make(Counter, SENDS)
        self._seconds = self._make(Histogram, SEND_SECONDS, buckets=_BUCKETS_S)
        self._attempts = self._make(Counter, ATTEMPTS)
        self._deliveries = self._make(Gauge, DELIVERIES)
        self._received = self._make(Counter, RECEIVED)
        self._rejected = self._make(Counter, REJECTED)
        self._handled = self._make(Counter, HANDLED)
        self._inbox = self._make(Gauge, INBOX)
        self._oldest = self._make(Gauge, INBOX_OLDEST)
        self._failing = self._make(Gauge, FAILING)
        self._throttled = self._make(Gauge, THROTTLED)
        self._requests = self._make(Counter, REQUESTS)
        # `labels` checks and locks at every call; there are few combinations, so each is looked up once.
        self._of_send = cache(self._find_send)
        self._of_request = cache(self._requests.labels)

    def _make(self, kind: Callable[..., T], metric: Metric, **options: Any) -> T:
        return kind(metric.name, metric.help, metric.labels, registry=self._registry, **options)

    def count_send(self, receipt: Receipt) -> None:
        """Count one send by channel and outcome: `sent`, or the class of its failure."""
        result = receipt.result
        if isinstance(receipt.failure, UnknownChannelError):
            return  # the name comes from the caller: counting it would let clients create labels
        outcome = "sent" if result.ok else str(receipt.failure.kind) if receipt.failure else "failed"
        sends, attempts, seconds = self._of_send(result.channel, outcome)
        sends.inc()
        attempts.inc(receipt.attempts)
        seconds.observe(receipt.duration_ms / 1000)

    def _find_send(self, channel: str, outcome: str) -> tuple[Counter, Counter, Histogram]:
        seconds = self._seconds.labels(channel)
        return self._sends.labels(channel, outcome), self._attempts.labels(channel), seconds

    def count_request(self, route: str, status: int) -> None:
        """Count one request; `route` is a template, never a raw path."""
        self._of_request(route, str(status)).inc()

    def count_received(self, channel: str, kind: str, result: str) -> None:
        """Count one received event by channel and result: `new`, `duplicate`, `stale` or `ignored`."""
        self._received.labels(channel, kind, result).inc()

    def count_rejected(self, channel: str) -> None:
        """Count one webhook call that failed verification."""
        self._rejected.labels(channel).inc()

    def count_handled(self, channel: str, ending: HandlingStatus) -> None:
        """Count one event whose processing has ended."""
        self._handled.labels(channel, str(ending)).inc()

    def text(
        self,
        deliveries: Mapping[str, int],
        backlog: Backlog,
        now: float,
        troubles: ChannelTroubles = NO_TROUBLES,
        stored: Sequence[Family] = (),
        *,
        as_open_metrics: bool = False,
    ) -> bytes:
        """Return all metrics; the arguments hold the current values of gauges."""
        # Outdated values would hide that there are none now.
        self._deliveries.clear()
        self._inbox.clear()
        self._failing.clear()
        self._throttled.clear()
        for channel, since in troubles.failing.items():
            self._failing.labels(channel).set(max(0.0, now - since))
        for channel, until in troubles.throttled.items():
            self._throttled.labels(channel).set(max(0.0, until - now))
        for status, count in deliveries.items():
            self._deliveries.labels(str(status)).set(count)
        for state, count in backlog.counts.items():
            self._inbox.labels(str(state)).set(count)
        self._oldest.set(max(0.0, now - backlog.oldest_at) if backlog.oldest_at is not None else 0.0)
        write: Callable[[Any], bytes] = open_metrics.generate_latest if as_open_metrics else generate_latest
        return write(_Collected(self._registry, stored))


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsReport:
    """Renders all metrics of a process, with the gauges that all processes share."""

    metrics: Metrics
    registry: Registry
    queue: DeliveryStore
    backlog: Callable[[], Awaitable[Backlog | None]]  # of the inbox; None if it cannot be read
    troubles: Callable[[], ChannelTroubles]  # of providers, as this process sees them
    clock: Clock
    stored: StoredMetrics = field(default_factory=StoredMetrics)

    async def answer(self, accept: str) -> Response:
        """Return the response in an accepted media type."""
        try:
            counts = {str(status): n for status, n in (await self.queue.counts()).items()}
        except TocsinError:  # health reports it; the other metrics are still useful
            counts = {}
        backlog, troubles = await self.backlog() or Backlog(), await self.shared_troubles()
        stored, is_open = await self.stored.read(), OPEN_METRICS in accept
        text = self.metrics.text(counts, backlog, self.clock.now(), troubles, stored, as_open_metrics=is_open)
        kind = open_metrics.CONTENT_TYPE_LATEST if is_open else CONTENT_TYPE
        return Response(text, headers={"Content-Type": kind, "Cache-Control": "no-store"})

    async def shared_troubles(self) -> ChannelTroubles:
        """Return this process's view of the providers, and the throttles that all processes share."""
        known = self.troubles()
        try:
            holds = await self.queue.account_holds(self.registry.configured())
        except TocsinError:  # health reports it
            return known
        shared = {channel: hold.until for channel, hold in holds.items()}
        return ChannelTroubles(known.failing, {**known.throttled, **shared})
