"""The metrics that are read from the stores at each scrape."""

from collections.abc import Iterable
from functools import partial

from tocsin.assembly.program import App
from tocsin.bot.door.metrics import bot_metrics
from tocsin.core.metrics import MetricSource, Sample
from tocsin.runs.engine.metrics import RUN_METRICS, run_samples
from tocsin.web.http.stored_metrics import StoredMetrics


def stored_metrics(app: App) -> StoredMetrics:
    """Return the metrics of runs, of the bot and of features."""

    async def read_runs() -> Iterable[Sample]:
        now = app.clock.now()
        return run_samples(await app.stores.runs().records.figures(now), app.features.run_kinds, now)

    sources = [
        MetricSource("runs", RUN_METRICS, read_runs),
        bot_metrics(app.stores.bot, app.clock.now),
        *(
            MetricSource(name, each.metrics, partial(app.features.read_metrics, name, each))
            for name, each in app.features.metrics()
        ),
    ]
    return StoredMetrics(sources, app.clock)
