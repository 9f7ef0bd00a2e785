"""Limits of wrong passwords per address and per name."""

from collections import OrderedDict, deque
from collections.abc import Callable
from hashlib import sha256

from tocsin.web.http.clients import bucket_key

WINDOW_S = 300.0
OF_ADDRESS, OF_ACCOUNT = 5, 50
# Rejected guesses after which an address may not even use a pair that was correct before: each could be a guess at
# it.
OF_GUESSER = 50
RETRY_AFTER_S = 60
# 30 MB at most; when full, the entries with the oldest failures are evicted.
MAX_KEYS, MAX_GUESSERS = 50_000, 5_000


class _Failures:
    """The times of failed attempts within the window, by key."""

    def __init__(self, limit: int, monotonic: Callable[[], float], max_keys: int = MAX_KEYS) -> None:
        self._limit = limit
        self._max_keys = max_keys
        self._monotonic = monotonic
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def reached(self, key: str) -> bool:
        """Return True if the key has reached the limit within the window."""
        return self.count(key) == self._limit

    def count(self, key: str) -> int:
        """Return the number of failures of the key within the window, up to the limit."""
        since = self._monotonic() - WINDOW_S
        return sum(at > since for at in self._times.get(key, ()))

    def add(self, key: str) -> None:
        """Record a failed attempt now."""
        now = self._monotonic()
        self._times.setdefault(key, deque(maxlen=self._limit)).append(now)
        self._times.move_to_end(key)
        while len(self._times) > self._max_keys or now - next(iter(self._times.values()))[-1] >= WINDOW_S:
            self._times.popitem(last=False)


class LoginThrottle:
    """Counts wrong passwords: 5 from one address (IPv6: one /64) and 50 for one name, within 5 minutes.

    Each process counts separately. Correct passwords do not reset the counts: otherwise an attacker who knows one
    could reset them for guesses at others.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._addresses = _Failures(OF_ADDRESS, monotonic)
        self._accounts = _Failures(OF_ACCOUNT, monotonic)
        self._guessers = _Failures(OF_GUESSER, monotonic, MAX_GUESSERS)

    def blocks_address(self, address: str) -> bool:
        """Return True if there were too many wrong passwords from this address."""
        return self._addresses.reached(bucket_key(address))

    def count_failures(self, address: str) -> int:
        """Return the number of recent wrong passwords from this address."""
        return self._addresses.count(bucket_key(address))

    def blocks_account(self, name: str) -> bool:
        """Return True if there were too many wrong passwords for this name from any address; also for unknown names."""
        return self._accounts.reached(_short(name))

    def blocks_guesser(self, address: str) -> bool:
        """Return True if a blocked address has continued guessing."""
        return self._guessers.reached(bucket_key(address))

    def count_guess(self, address: str) -> None:
        """Count a pair that was not checked because the address is blocked."""
        self._guessers.add(bucket_key(address))

    def count(self, address: str, name: str) -> None:
        """Count a wrong password."""
        self._addresses.add(bucket_key(address))
        self._accounts.add(_short(name))


def _short(name: str) -> str:
    """Return a key of bounded length: a name may be as long as a request body."""
    return sha256(name.encode(errors="surrogatepass")).hexdigest()
