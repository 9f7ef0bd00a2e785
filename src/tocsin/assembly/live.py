"""Puts the event hub together: what features tell live, runs, and the status."""

from typing import TYPE_CHECKING, Any

from tocsin.assembly.program import RUNS_FOLDER
from tocsin.assembly.status import status_report
from tocsin.core.storage.change_feed import ChangeFeed
from tocsin.runs.store import RunStore
from tocsin.web.dashboard.live.hub import EventHub, EventSource
from tocsin.web.dashboard.live.run_events import RunEvents
from tocsin.web.dashboard.live.status_events import StatusEvents

if TYPE_CHECKING:
    from tocsin.assembly.program import App


def event_hub(app: "App") -> EventHub:
    """Return what tells open pages of changes while it runs as a service beside the dashboard."""
    started = app.clock.monotonic()

    async def status() -> dict[str, Any]:
        return (await status_report(app, uptime_s=app.clock.monotonic() - started)).as_document()

    sources = [
        EventSource(live.topic, live.event, records, live.tells_new) for live, records in app.features.live_topics()
    ]
    runs = RunEvents(RunStore(app.database), app.settings.data_dir / RUNS_FOLDER, app.clock)
    return EventHub(ChangeFeed(app.database), sources, runs, StatusEvents(status, app.clock), app.clock)
