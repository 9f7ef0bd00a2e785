"""The routes of doors at the front door: those of all protocols."""

import asyncio
from collections.abc import Sequence

from tocsin.features.doors.mail.listener import MailListener
from tocsin.features.doors.mail.receiver import MailReceiver
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.protocols.protocol import DoorProtocol, Refusal, RefusalReason
from tocsin.features.doors.receiving.receiver import DoorReceiver
from tocsin.features.doors.receiving.worker import DoorWorker
from tocsin.features.doors.service import Doors
from tocsin.features.front_door import FrontDoor, FrontHandler, FrontRequest, FrontResponse, FrontRoute

_LIMITED = Refusal(RefusalReason.TOO_MANY, "too many requests of this address were refused")
_UNAVAILABLE = Refusal(RefusalReason.UNAVAILABLE, "the request cannot be stored now")


class DoorsAtTheDoor:
    """The doors of one process while its front door listens."""

    def __init__(self, doors: Doors) -> None:
        self.worker = DoorWorker(doors)
        self.receiver = DoorReceiver(doors, self.worker)
        self.mail = MailListener(doors.context, MailReceiver(doors, self.receiver, self.worker))

    async def run(self) -> None:
        """Take mail and process what is stored, until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.mail.run())
            group.create_task(self.worker.run())

    def stop(self) -> None:
        """Take and process nothing more."""
        self.mail.stop()
        self.worker.stop()


def _at_the_door(doors: Doors) -> DoorsAtTheDoor:
    """Return the one of this process."""
    if doors.at_the_door is None:
        doors.at_the_door = DoorsAtTheDoor(doors)
    found: DoorsAtTheDoor = doors.at_the_door
    return found


def front_routes(doors: Doors) -> Sequence[FrontRoute]:
    """Return the routes; protocols may share a path."""
    protocols: dict[str, list[DoorProtocol]] = {}
    methods: dict[str, set[str]] = {}
    for protocol in PROTOCOLS.values():
        for path, usable in protocol.routes:
            protocols.setdefault(path, []).append(protocol)
            methods.setdefault(path, set()).update(usable)
    receiver = _at_the_door(doors).receiver
    return [
        FrontRoute(
            path,
            _handler(receiver, path, shared),
            sorted(methods[path]),
            limited=shared[0].refused(_LIMITED),
            unavailable=shared[0].refused(_UNAVAILABLE),
        )
        for path, shared in protocols.items()
    ]


def _handler(receiver: DoorReceiver, path: str, protocols: Sequence[DoorProtocol]) -> FrontHandler:
    async def handle(request: FrontRequest) -> FrontResponse:
        return await receiver.answer(request, path, protocols)

    return handle


FRONT_DOOR: FrontDoor[Doors] = FrontDoor(routes=front_routes, beside=_at_the_door)
