"""Requests to doors, taken as by the front door."""

import json
from typing import Any

from tocsin.assembly.program import App
from tocsin.features.doors.model import DoorRequest
from tocsin.features.doors.receiving.worker import DoorWorker
from tocsin.features.doors.service import Doors


async def call_door(app: App, name: str, payload: Any) -> None:
    """Store a request to a door, and process it."""
    doors: Doors = app.features.opened("doors")
    request = DoorRequest(
        route="/in/{token}",
        headers={"content-type": "application/json"},
        client="192.0.2.7",
        body=json.dumps(payload).encode(),
        at=doors.now(),
    )
    assert await doors.store.take_all([(await doors.get(name), request)], "", 200)
    worker = DoorWorker(doors)
    await worker.step()
    await worker.lease.release()
