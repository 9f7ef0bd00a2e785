"""Record what the stand-ins received, in one append-only list."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

OnMessage = Callable[["RecordedRequest"], None]
Body = dict[str, Any] | str


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request that a provider accepted.

    `n` counts from 1 over all stand-ins and is never reused. `text` is what the reader sees: entities parsed,
    escapes undone. `body` is the raw call (mail: the raw message as str). `kind` is `message` for what a
    person would get once; everything else has its own word: `edit`, `action`, `reaction`, `callback`,
    `response`, `duplicate` (refused by nonce), `inbound` (a person wrote to the bot). `fault` names the fault
    of the request, such as `reset_after_accept`.
    """

    n: int
    at: float
    channel: str
    account: str
    target: str
    text: str
    id: str
    kind: str = "message"
    thread: str = ""
    subject: str = ""
    fault: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return asdict(self)


class Recorder:
    """Keep every `RecordedRequest` in order, and wake the tasks that wait for more.

    Only the event loop's thread may call `add`.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._items: list[RecordedRequest] = []
        self._count = 0
        self._grown = asyncio.Event()
        self._callbacks: list[OnMessage] = []

    def __len__(self) -> int:
        return len(self._items)

    @property
    def last(self) -> int:
        """The number of the newest entry, 0 if there was none."""
        return self._count

    @property
    def items(self) -> tuple[RecordedRequest, ...]:
        """Everything since the last `clear`, all kinds."""
        return tuple(self._items)

    def add(self, channel: str, target: str, text: str, *, id: str, **fields: Any) -> RecordedRequest:
        """Append one entry and tell the waiters and callbacks; `fields` are those of `RecordedRequest`."""
        self._count += 1
        fields.setdefault("account", "")
        received = RecordedRequest(
            n=self._count, at=self._clock(), channel=channel, target=target, text=text, id=id, **fields
        )
        self._items.append(received)
        self.wake()
        for callback in tuple(self._callbacks):
            callback(received)
        return received

    def of(self, channel: str = "", *, kind: str = "message", target: str = "") -> list[RecordedRequest]:
        """List the entries of one kind; an empty argument matches all."""
        return [
            item
            for item in self._items
            if channel in ("", item.channel) and kind in ("", item.kind) and target in ("", item.target)
        ]

    async def wait_for(
        self, n: int, channel: str = "", *, kind: str = "message", target: str = "", timeout_s: float = 5.0
    ) -> list[RecordedRequest]:
        """Return the matching entries once there are at least `n`; raise `TimeoutError` after `timeout_s`."""
        async with asyncio.timeout(timeout_s):
            while len(found := self.of(channel, kind=kind, target=target)) < n:
                await self._grown.wait()
        return found

    async def after(self, n: int, *, timeout_s: float) -> list[RecordedRequest]:
        """Return the entries numbered above `n`, waiting up to `timeout_s` for the first.

        Does not wait if `n` is higher than any number so far: it then belongs to an earlier recorder.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                if self._count == n:
                    await self._grown.wait()
        return [item for item in self._items if item.n > n]

    def wake(self) -> None:
        """End every wait of `after`, but not those of `wait_for`."""
        self._grown.set()
        self._grown = asyncio.Event()

    def on_message(self, callback: OnMessage) -> Callable[[], None]:
        """Call `callback` for every new entry; the returned function ends that."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def clear(self) -> None:
        """Remove the entries; numbering continues."""
        self._items.clear()
