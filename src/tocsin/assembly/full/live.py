"""Composes the event hub: live topics of features, runs, the status, deliveries and received events."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tocsin.assembly.program import App
from tocsin.assembly.runs import RUNS_FOLDER
from tocsin.assembly.status import status_report
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.change_feed import ChangeFeed
from tocsin.core.time.timestamps import timestamp
from tocsin.delivery.store import DeliveryStore, UnknownDeliveryError
from tocsin.messaging.inbound.model import InboxEvent
from tocsin.messaging.inbound.store import InboxStore
from tocsin.web.dashboard.live.hub import EventHub, EventSource
from tocsin.web.dashboard.live.run_events import RUNS, RunEvents
from tocsin.web.dashboard.live.status_events import StatusEvents
from tocsin.web.dashboard.live.stream_events import StreamEvents, StreamSource


def event_hub(app: App) -> EventHub:
    """Return the event hub, which sends changes to open pages while it runs as a service."""
    started = app.clock.monotonic()

    async def status() -> Any:
        return to_json(await status_report(app, uptime_s=app.clock.monotonic() - started))

    sources = [
        EventSource(live.topic, live.event, records, live.tells_new) for live, records in app.features.live_topics()
    ]
    store = app.stores.runs()
    runs = RunEvents(store, app.settings.data_dir / RUNS_FOLDER, app.clock)
    shared = [] if (changes := store.records.changes()) is None else [StreamSource(RUNS, "run", changes, runs.records)]
    streams = StreamEvents([*_streams(app), *shared], app.clock)
    return EventHub(ChangeFeed(app.database), sources, runs, StatusEvents(status, app.clock), app.clock, streams)


def _streams(app: App) -> list[StreamSource]:
    """Return the sources of frequent changes, which any host that shares the store may make."""
    queue, inbox = app.outbox.store, app.stores.inbox()
    return [
        StreamSource("deliveries", "delivery", queue.changes(), partial(_deliveries, queue)),
        StreamSource("received", "received", inbox.changes(), partial(_received, inbox)),
    ]


async def _deliveries(queue: DeliveryStore, ids: Sequence[str]) -> Mapping[str, Any]:
    async def read(id_: str) -> Any:
        try:
            return to_json(await queue.get(id_))
        except UnknownDeliveryError:
            return None

    found = await asyncio.gather(*map(read, ids))
    return {id_: document for id_, document in zip(ids, found, strict=True) if document}


async def _received(inbox: InboxStore, numbers: Sequence[str]) -> Mapping[str, Any]:
    async def read(number: str) -> Any:
        return next(iter(await inbox.search(1, before=int(number) + 1)), None)

    found = await asyncio.gather(*map(read, numbers))
    return {
        number: _event_document(event)
        for number, event in zip(numbers, found, strict=True)
        if event and str(event.seq) == number
    }


def _event_document(event: InboxEvent) -> dict[str, Any]:
    """Return the public fields of a received event, without its text."""
    return {
        "id": event.id,
        "channel": event.channel,
        "chat": event.chat,
        "kind": event.kind,
        "status": str(event.status),
        "reason": event.reason,
        "accepted_at": timestamp(event.accepted_at),
        "finished_at": timestamp(event.finished_at),
    }
