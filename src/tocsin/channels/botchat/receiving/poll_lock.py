"""Elect the only polling process, among those that share a directory or, with a shared store, among all hosts."""

import logging

from tocsin.channels.botchat.receiving.token_lock import TokenLock
from tocsin.channels.conversation import UpdateLease
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.service import StopEvent
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)


class PollLock:
    """Holds the lease if the store has one, else the lock file; a lease that cannot be renewed is lost."""

    def __init__(self, lease: UpdateLease | None, file: TokenLock, clock: Clock) -> None:
        self.held = False
        self.where = "on this machine" if lease is None else "on one of the hosts"
        self._lease = lease
        self._file = file
        self._clock = clock
        self._ends_at = 0.0  # monotonic end of the lease

    @property
    def token(self) -> int:
        """The fencing token of the lease; 0 with a lock file, which the kernel enforces."""
        return self._lease.token if self._lease else 0

    async def acquire(self) -> bool:
        """Acquire the lock unless another process holds it; raise LockError or StoreUnavailableError."""
        if self._lease is None:
            self.held = self._file.acquire()
        else:
            asked_at = self._clock.monotonic()
            self.held = await self._lease.acquire()
            self._ends_at = asked_at + self._lease.lasts_s
        return self.held

    async def keep(self, stop: StopEvent) -> None:
        """Renew the lease while it is held, until `stop`."""
        while self._lease is not None and not stop.is_set():
            await stop.pause(self._clock, self._lease.renew_s)
            if self.held and not stop.is_set():
                await self._renew()

    async def _renew(self) -> None:
        try:
            if not await self.acquire():
                log.warning("another process fetches updates now")
        except StoreUnavailableError as error:
            if self._clock.monotonic() >= self._ends_at:
                self.held = False
                log.warning("the lease for fetching updates expired", extra={"reason": error.sentence()})

    def lose(self) -> None:
        """Record that another process holds the lock."""
        self.held = False

    async def release(self) -> None:
        """Release the lock if it is held."""
        if self._lease is None:
            self._file.release()
        elif self.held:
            await self._lease.release()
        self.held = False
