"""The lease for fetching updates for a bot, held by one process among all hosts.

It is renewed every `RENEW_S`. A process that died, hangs or is disconnected loses it after `LEASE_S`. Waiting processes
try to acquire it every three seconds, so another one fetches within ten. The fencing token rejects late writes of the
former holder.
"""

import logging

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.redis_time import TimedScripts, micro
from tocsin.messaging.inbound.redis.scripts import LEASE, UNLEASE

log = logging.getLogger(__name__)

LEASE_S = 6.0
RENEW_S = 2.0


class RedisLease:
    """The lease of one name, for one holder."""

    lasts_s = LEASE_S
    renew_s = RENEW_S

    def __init__(self, scripts: TimedScripts, name: str, holder: str) -> None:
        self.token = 0
        self._scripts = scripts
        self._name = name
        self._holder = holder

    async def acquire(self) -> bool:
        (token,) = await self._scripts.run(LEASE, [self._name, self._holder, micro(LEASE_S)])
        self.token = int(token) or self.token
        return bool(int(token))

    async def release(self) -> None:
        try:
            await self._scripts.run(UNLEASE, [self._name, self._holder])
        except StoreUnavailableError as error:  # the lease expires anyway
            log.debug("a lease could not be released", extra={"reason": error.sentence()})
