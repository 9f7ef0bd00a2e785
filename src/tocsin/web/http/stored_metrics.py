"""Metrics that are read from the stores when Prometheus scrapes, so that both ports and all processes agree."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from prometheus_client.metrics_core import Metric as Family

from tocsin.core.errors import TocsinError
from tocsin.core.metrics import Distribution, Metric, MetricSource, Sample
from tocsin.core.time.clock import Clock, SystemClock

log = logging.getLogger(__name__)

CACHE_S = 5.0  # for several Prometheus servers
_READ_S = 5.0  # half of the usual time-out of a scrape

SOURCE_UP = Metric("tocsin_metrics_source_up", "1 if the metrics of a source could be read.", ("source",))


class StoredMetrics:
    """The metrics of several sources; those of one that fails are omitted."""

    def __init__(self, sources: Sequence[MetricSource] = (), clock: Clock | None = None) -> None:
        self._sources = sources
        self._clock = clock or SystemClock()
        self._lock = asyncio.Lock()
        self._read_at = -inf
        self._families: list[Family] = []
        self._down: set[str] = set()

    async def read(self) -> Sequence[Family]:
        """Return all metrics, up to `CACHE_S` old."""
        async with self._lock:
            if self._clock.monotonic() - self._read_at >= CACHE_S:
                found = await asyncio.gather(*map(self._read_source, self._sources))
                up = [Sample(SOURCE_UP, s.name not in self._down, (s.name,)) for s in self._sources]
                self._families = [_family(SOURCE_UP, up)]
                for source, samples in zip(self._sources, found, strict=True):
                    self._families += [_family(metric, samples) for metric in source.metrics]
                self._read_at = self._clock.monotonic()
        return self._families

    async def _read_source(self, source: MetricSource) -> list[Sample]:
        try:
            async with asyncio.timeout(_READ_S):
                found = list(await source.read())
        except Exception as error:  # it may be a plug-in: the metrics of the others are exposed
            if source.name not in self._down:
                reason = error.sentence() if isinstance(error, TocsinError) else type(error).__name__
                is_bug = not isinstance(error, TocsinError | TimeoutError)
                log.warning("metrics cannot be read", extra={"of": source.name, "reason": reason}, exc_info=is_bug)
            self._down.add(source.name)
            return []
        self._down.discard(source.name)
        return found


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    """Return a metric in the form of the library."""
    family = Family(metric.name.removesuffix("_total"), metric.help, metric.type)
    for _, value, texts in (sample for sample in samples if sample.metric is metric):
        labels = dict(zip(metric.labels, texts, strict=True))
        if isinstance(value, Distribution):
            for bound, count in _cumulate(value.buckets):
                family.add_sample(f"{metric.name}_bucket", {**labels, "le": bound}, count)
            family.add_sample(f"{metric.name}_count", labels, sum(value.buckets.values()))
            family.add_sample(f"{metric.name}_sum", labels, value.sum)
        else:
            family.add_sample(metric.name, labels, float(value))
    return family


def _cumulate(buckets: Mapping[float, int]) -> Iterator[tuple[str, float]]:
    total = 0
    for bound, count in sorted(buckets.items()):
        total += count
        yield "+Inf" if bound == inf else str(bound), total
