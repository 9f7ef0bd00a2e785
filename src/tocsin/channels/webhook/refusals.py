"""Receivers that want no more events: not called for a day, or until their address changes."""

import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256

from tocsin.core.errors import ChannelError, StoreUnavailableError
from tocsin.core.storage.documents.document import ChannelDocument
from tocsin.core.time.timestamps import timestamp

PAUSE_S = 86_400.0
LOOK_AGAIN_S = 60.0  # a look takes 0.2 ms of processor time


class ReceiverRefusals:
    """When a receiver answered 410, by a digest of its address, which is a secret: one record for all processes."""

    def __init__(self, document: ChannelDocument) -> None:
        self._document = document
        self._known: Mapping[str, float] = {}
        self._read_at = float("-inf")

    async def check(self, name: str, url: str, now: float) -> None:
        """Raise ChannelError if the receiver wanted no more events less than a day ago."""
        refused_at = (await self._look(now)).get(_digest(url))
        if refused_at is not None and 0 <= now - refused_at < PAUSE_S:
            told = f"{name} wants no more events: it answered HTTP 410 at {timestamp(refused_at)}"
            raise ChannelError(
                f"{told}, and gets none for a day",
                hint="remove the target from targets.yaml, or correct its `url`",
                provider_code="HTTP 410",
            )

    async def add(self, url: str, now: float) -> None:
        """Record that a receiver wants no more events, unless the store fails; forget those of more than a day ago."""

        def edit(text: str) -> str:
            recent = {each: at for each, at in _read(text).items() if now - at < PAUSE_S}
            return json.dumps({**recent, _digest(url): now})

        with suppress(StoreUnavailableError):  # the next event meets the same answer
            self._known = _read(await self._document.change(edit))

    async def _look(self, now: float) -> Mapping[str, float]:
        """Return the record as of the last minute; while the store fails, as it was known before."""
        if not 0 <= now - self._read_at < LOOK_AGAIN_S:
            with suppress(StoreUnavailableError):
                self._known, self._read_at = _read(await self._document.read()), now
        return self._known


def _read(text: str) -> Mapping[str, float]:
    found: Mapping[str, float] = json.loads(text) if text else {}
    return found


def _digest(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:32]
