"""The metrics of watchers; those of their runs are of the engine."""

from collections.abc import Iterable

from tocsin.core.metrics import Metric, Sample, count_samples
from tocsin.features.hooks import FeatureMetrics
from tocsin.features.watchers.service import Watchers

WATCHERS = Metric("tocsin_watchers", "Watchers by state.", ("state",))
INVALID = Metric("tocsin_watchers_file_invalid", "1 if the watchers file was rejected, so that earlier rules apply.")
WAITING = Metric("tocsin_watcher_changes_waiting", "Changed files whose watcher has not acted yet.")


async def read_metrics(watchers: Watchers) -> Iterable[Sample]:
    counts = await watchers.count_states()
    return [
        *count_samples(WATCHERS, counts),
        Sample(INVALID, watchers.problem is not None),
        Sample(WAITING, await watchers.store.waiting() if any(counts.values()) else 0),
    ]


METRICS = FeatureMetrics[Watchers]((WATCHERS, INVALID, WAITING), read_metrics)
