"""Receivers that want no more events: not called for a day, or until their address changes."""

import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from tocsin.core.errors import ChannelError, StoreUnavailableError
from tocsin.core.time.timestamps import timestamp

if TYPE_CHECKING:
    from tocsin.core.storage.documents.document import ChannelDocument

PAUSE_S = 86_400.0


class ReceiverRefusals:
    """When a receiver answered 410, by a digest of its address, which is a secret: one record for all processes."""

    def __init__(self, document: "ChannelDocument") -> None:
        self._document = document

    async def check(self, name: str, url: str, now: float) -> None:
        """Raise ChannelError if the receiver wanted no more events less than a day ago.

        While the store fails, the receiver is called: no message waits for a record that few have.
        """
        try:
            kept = await self._document.read()
        except StoreUnavailableError:
            return
        refused_at = _read(kept).get(_digest(url))
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
            await self._document.change(edit)


def _read(text: str) -> Mapping[str, float]:
    found: Mapping[str, float] = json.loads(text) if text else {}
    return found


def _digest(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:32]
