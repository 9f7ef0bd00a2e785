"""The description of metrics as data, and their values; `web/http/metrics.py` writes them for Prometheus."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class MetricType(StrEnum):
    """The type of a metric in Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. The values of its labels must be few: kinds and states, never texts, targets or IDs."""

    name: str  # in base units: `_seconds`, `_bytes`; `_total` for a counter
    help: str
    labels: tuple[str, ...] = ()
    type: MetricType = MetricType.GAUGE
    per_process: bool = False  # lost with the process; other metrics are read from the stores


@dataclass(frozen=True, slots=True)
class Distribution:
    """The value of a histogram: how many observations are in each bucket, by its upper bound, and their sum."""

    buckets: Mapping[float, int]
    sum: float


class Sample(NamedTuple):
    """The value of a metric for one combination of its labels."""

    metric: Metric
    value: float | Distribution
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricSource:
    """Metrics that are read from a store at each scrape."""

    name: str
    metrics: Sequence[Metric]
    read: Callable[[], Awaitable[Iterable[Sample]]]


def count_samples(metric: Metric, counts: Mapping[str, int]) -> list[Sample]:
    """Return the samples of a metric with one label from counts by its value."""
    return [Sample(metric, count, (str(value),)) for value, count in counts.items()]
