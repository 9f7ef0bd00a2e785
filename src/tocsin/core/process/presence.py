"""Liveness of the processes that share a store, for everything that a process claims and may leave behind.

A process that holds work (open messages, runs) writes a heartbeat every `BEAT_S`; one that holds none writes nothing.
The end of another process is proved if possible (`core/process/identity.py`); a process on another host or in another
container counts as ended after `SILENCE_S` without a heartbeat. A counter is only compared with earlier values of the
same process, so clocks need not be synchronised.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.process.beats import Beats
from tocsin.core.process.identity import is_alive, is_dead, own_identity
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

BEAT_S = 10.0
SILENCE_S = 60.0
# Silence is checked every few seconds; after a longer gap between checks, the measurement starts again.
_FORGET_S = 2 * SILENCE_S


@dataclass(slots=True)
class _Pulse:
    beat: int
    since: float  # monotonic, like the next
    asked_at: float


class Presence:
    """The heartbeats of this process, and the liveness of others. Create one per process."""

    def __init__(
        self,
        beats: Beats,
        clock: Clock,
        identity: str = "",
        *,
        is_dead: Callable[[str], bool] = is_dead,
        is_alive: Callable[[str], bool] = is_alive,
    ) -> None:
        """Write heartbeats of `identity`, by default this process; `is_dead` and `is_alive` must prove their answer."""
        self.identity = identity or own_identity()
        self.is_dead = is_dead
        self._is_alive = is_alive
        self._beats = beats
        self._clock = clock
        self._beat_at: float | None = None  # monotonic; None until the first heartbeat
        self._pulses: dict[str, _Pulse] = {}
        self._pruned: dict[str, int] = {}

    def named(self, identity: str) -> "Presence":
        """Return the heartbeats of another identity in the same store, such as a host."""
        return Presence(self._beats, self._clock, identity, is_dead=lambda _: False, is_alive=lambda _: False)

    async def beat(self) -> None:
        """Write a heartbeat unless the last one is recent; call this often while the process holds work."""
        now, due_at = self._clock.monotonic(), self._beat_at
        if due_at is not None and now < due_at:
            return
        self._beat_at = now + BEAT_S
        try:
            await self._beats.add(self.identity)
        except StoreUnavailableError:
            self._beat_at = now
            raise

    async def gone(self, identities: Collection[str]) -> set[str]:
        """Return those of these processes that have ended: proved, or without heartbeats. Never this process.

        Missing heartbeats are counted from the first call that names a process: name it every few seconds.
        """
        others = set(identities) - {self.identity}
        gone = {identity for identity in others if self.is_dead(identity)}
        unproved = {identity for identity in others - gone if not self._is_alive(identity)}
        return gone | await self._silent(unproved)

    async def leave(self) -> None:
        """Delete the heartbeat of this process, which holds no more work; never raises."""
        if self._beat_at is None:
            return
        self._beat_at = None
        try:
            await self._beats.remove([self.identity])
        except StoreUnavailableError as error:  # `prune` of another process deletes it
            log.debug("the heartbeat records of this process could not be removed", extra={"reason": error.sentence()})

    async def prune(self) -> int:
        """Delete the heartbeats of processes that have ended, or were silent since the last call; return their number.

        A live process that was deleted by mistake reappears with its next heartbeat.
        """
        beats, earlier = await self._beats.all(), self._pruned
        self._pruned = beats
        old = [identity for identity, beat in beats.items() if self._is_old(identity, earlier.get(identity) == beat)]
        if old:
            await self._beats.remove(old)
        return len(old)

    def _is_old(self, identity: str, silent: bool) -> bool:
        if identity == self.identity:
            return False
        return self.is_dead(identity) or (silent and not self._is_alive(identity))

    async def _silent(self, identities: Collection[str]) -> set[str]:
        """Return which of these have written no heartbeat for `SILENCE_S`."""
        now = self._clock.monotonic()
        self._pulses = {i: pulse for i, pulse in self._pulses.items() if now - pulse.asked_at < _FORGET_S}
        beats = await self._beats.all() if identities else {}
        for identity in identities:
            beat, pulse = beats.get(identity, 0), self._pulses.get(identity)
            since = pulse.since if pulse and pulse.beat == beat else now
            self._pulses[identity] = _Pulse(beat, since, now)
        return {identity for identity in identities if now - self._pulses[identity].since >= SILENCE_S}
