"""The metrics of doors. Names are labels, tokens never."""

from collections.abc import Iterable

from tocsin.core.metrics import Metric, MetricType, Sample, count_samples
from tocsin.features.doors.service import Doors
from tocsin.features.hooks import FeatureMetrics

MAX_LABELLED = 200  # doors, by name: a label with more values would burden Prometheus

DOORS = Metric("tocsin_doors", "Doors.")
REQUESTS = Metric(
    "tocsin_door_requests", f"Accepted requests of a door so far; the first {MAX_LABELLED} doors by name.", ("door",)
)
LAST_REQUEST = Metric(
    "tocsin_door_last_request_timestamp_seconds",
    f"Time of the last accepted request; the first {MAX_LABELLED} doors by name.",
    ("door",),
)
WAITING = Metric("tocsin_door_requests_waiting", "Accepted requests of which no message was made yet.")
REFUSED_MAIL = Metric(
    "tocsin_door_mail_refused_total",
    "Refused logins, recipients and mails, by reason: login, recipient, limit, size, store.",
    ("reason",),
    MetricType.COUNTER,
    per_process=True,
)


async def read_metrics(doors: Doors) -> Iterable[Sample]:
    """Return what all doors accepted, and what waits."""
    found = await doors.all()
    shown = found[:MAX_LABELLED]
    return [
        Sample(DOORS, len(found)),
        *(Sample(REQUESTS, each.requests, (each.name,)) for each in shown),
        *(Sample(LAST_REQUEST, each.last_at, (each.name,)) for each in shown if each.last_at is not None),
        Sample(WAITING, await doors.waiting()),
        *count_samples(REFUSED_MAIL, doors.refused_mail),
    ]


METRICS = FeatureMetrics[Doors]((DOORS, REQUESTS, LAST_REQUEST, WAITING, REFUSED_MAIL), read_metrics)
