"""The limits of a service's connections: in total, and per address."""

import ctypes
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from tocsin.core.config.addresses import Network
from tocsin.web.http.clients import bucket_key, is_in, parse_address

MAX_CONNECTIONS = 512
MAX_PER_ADDRESS = 256
# After the first number of connections, freed memory is returned to the system once at most the second is left.
CROWD, CALM = 128, 16
# Descriptors reserved for other uses: databases, log files, calls to providers, child processes.
RESERVED_DESCRIPTORS = 128


class ClientConnection(Protocol):
    """One client's connection."""

    peer: str  # its address, as the socket reports it
    waiting_since: float | None  # when it began to wait for the client; None while a response is due

    def cut_off(self) -> None:
        """Close the connection immediately."""


class ConnectionLimits:
    """Admits connections; above the limit, the one that has kept the service waiting longest is closed.

    So a client that opens idle connections takes none from active clients. A trusted proxy serves many clients from
    one address: only the total limit applies to it.
    """

    def __init__(
        self,
        trusted_proxies: Sequence[Network] = (),
        *,
        total: int = MAX_CONNECTIONS,
        per_address: int = MAX_PER_ADDRESS,
    ) -> None:
        self._trusted = tuple(trusted_proxies)
        self._total = min(total, descriptors_for_connections())
        self._per_address = per_address
        self._connections: set[ClientConnection] = set()
        self._of_address: Counter[str] = Counter()
        self._crowded = False

    def admit(self, connection: ClientConnection) -> bool:
        """Admit `connection` and return True; return False if a response is due on every other one."""
        key = bucket_key(connection.peer)
        limited = self._of_address[key] >= self._per_address and not is_in(
            parse_address(connection.peer), self._trusted
        )
        if limited and not self._make_room(key):
            return False
        if len(self._connections) >= self._total and not self._make_room(None):
            return False
        self._connections.add(connection)
        self._of_address[key] += 1
        self._crowded = self._crowded or len(self._connections) >= CROWD
        return True

    def release(self, connection: ClientConnection) -> None:
        """Remove a closed connection; one that was not admitted, or was removed before, is ignored."""
        if connection not in self._connections:
            return
        self._connections.remove(connection)
        key = bucket_key(connection.peer)
        self._of_address[key] -= 1
        if not self._of_address[key]:
            del self._of_address[key]
        if self._crowded and len(self._connections) <= CALM:
            self._crowded = False
            return_freed_memory()

    def _make_room(self, key: str | None) -> bool:
        """Close the connection that has kept the service waiting longest, of one address or of all."""
        waiting = [
            (connection.waiting_since, id(connection), connection)
            for connection in self._connections
            if connection.waiting_since is not None and (key is None or bucket_key(connection.peer) == key)
        ]
        if not waiting:
            return False
        longest = min(waiting)[2]
        self.release(longest)
        longest.cut_off()
        return True


def descriptors_for_connections() -> int:
    """Return the number of connections that the limit of open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(soft - RESERVED_DESCRIPTORS, soft // 2)


def return_freed_memory() -> None:
    """Return memory that the allocator of glibc caches to the system; takes about a millisecond."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):  # musl has none
        trim(0)
