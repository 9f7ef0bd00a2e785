"""The metrics of heartbeats. Names are labels, addresses never."""

from collections import Counter
from collections.abc import Iterable

from tocsin.core.metrics import Metric, Sample, count_samples
from tocsin.features.heartbeats.model import HeartbeatState
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.hooks import FeatureMetrics

MAX_LABELLED = 200  # heartbeats, by name: a label with more values would burden Prometheus

HEARTBEATS = Metric("tocsin_heartbeats", "Heartbeats by state.", ("state",))
DOWN = Metric(
    "tocsin_heartbeat_down", f"1 if a heartbeat is down; the first {MAX_LABELLED} heartbeats by name.", ("heartbeat",)
)
LAST_PING = Metric(
    "tocsin_heartbeat_last_ping_timestamp_seconds",
    f"Time of the last ping; the first {MAX_LABELLED} heartbeats by name.",
    ("heartbeat",),
)


async def read_metrics(heartbeats: Heartbeats) -> Iterable[Sample]:
    found, now = await heartbeats.all(), heartbeats.now()
    counts = dict.fromkeys(map(str, HeartbeatState), 0) | Counter(str(each.state(now)) for each in found)
    shown = found[:MAX_LABELLED]
    pinged = [(each.name, each.watched.last_ping_at) for each in shown]
    return [
        *count_samples(HEARTBEATS, counts),
        *(Sample(DOWN, each.watched.state is HeartbeatState.DOWN, (each.name,)) for each in shown),
        *(Sample(LAST_PING, at, (name,)) for name, at in pinged if at is not None),
    ]


METRICS = FeatureMetrics[Heartbeats]((HEARTBEATS, DOWN, LAST_PING), read_metrics)
