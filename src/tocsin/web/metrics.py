"""What Prometheus sees; one registry an application, so that two of them never share numbers."""

from collections.abc import Mapping
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from tocsin import __version__
from tocsin.channels.contract import Receipt

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Providers answer in tenths of seconds; the tail shows waiting for Retry-After and time-outs.
_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counts sends and requests. Labels hold kinds, outcomes and statuses: never targets or texts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        Gauge("tocsin_build_info", "Version of Tocsin.", ["version"], registry=self._registry).labels(__version__).set(
            1
        )
        self._sends = Counter("tocsin_sends", "Sends by outcome.", ["channel", "outcome"], registry=self._registry)
        self._seconds = Histogram(
            "tocsin_send_seconds", "Duration of sends.", ["channel"], buckets=_BUCKETS_S, registry=self._registry
        )
        self._attempts = Counter("tocsin_send_attempts", "Provider calls.", ["channel"], registry=self._registry)
        self._deliveries = Gauge(
            "tocsin_deliveries", "Deliveries in the record, by state.", ["status"], registry=self._registry
        )
        self._requests = Counter(
            "tocsin_http_requests", "Requests by route and status.", ["route", "status"], registry=self._registry
        )
        # `labels` checks and locks at every call; there are few combinations, so each is looked up once.
        self._of_send = cache(self._find_send)
        self._of_request = cache(self._requests.labels)

    def count_send(self, receipt: Receipt) -> None:
        """Count one send by channel and outcome: `sent`, or the class of its failure."""
        result = receipt.result
        if not receipt.attempts and receipt.failure and receipt.failure.provider_code == "unknown-channel":
            return  # the name comes from the caller: counting it would let strangers make labels
        outcome = "sent" if result.ok else str(receipt.failure.kind) if receipt.failure else "failed"
        sends, attempts, seconds = self._of_send(result.channel, outcome)
        sends.inc()
        attempts.inc(receipt.attempts)
        seconds.observe(receipt.duration_ms / 1000)

    def _find_send(self, channel: str, outcome: str) -> tuple[Counter, Counter, Histogram]:
        seconds = self._seconds.labels(channel)
        return self._sends.labels(channel, outcome), self._attempts.labels(channel), seconds

    def count_request(self, route: str, status: int) -> None:
        """Count one answered request; `route` is a template, never a raw path."""
        self._of_request(route, str(status)).inc()

    def text(self, deliveries: Mapping[str, int]) -> bytes:
        """Return all numbers in the text format; `deliveries` are the counts by state, as they are now."""
        self._deliveries.clear()  # numbers of some time ago would hide that there are none now
        for status, count in deliveries.items():
            self._deliveries.labels(str(status)).set(count)
        return generate_latest(self._registry)
