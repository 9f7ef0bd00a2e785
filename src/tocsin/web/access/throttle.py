"""How many wrong passwords are taken from one address and for one name before further ones are refused."""

from collections import OrderedDict, deque
from collections.abc import Callable
from hashlib import sha256

from tocsin.web.http.clients import bucket_of

WINDOW_S = 300.0
OF_ADDRESS, OF_ACCOUNT = 5, 50
# Refused guesses after which an address may not even use the pair that was right before: each could be a guess at it.
OF_GUESSER = 50
RETRY_AFTER_S = 60
# 30 MB at most; a flood from more pushes out what failed longest ago.
MAX_KEYS, MAX_GUESSERS = 50_000, 5_000


class _Failures:
    """When tries failed, by key, as far as that is within the window."""

    def __init__(self, limit: int, monotonic: Callable[[], float], max_keys: int = MAX_KEYS) -> None:
        self._limit = limit
        self._max_keys = max_keys
        self._monotonic = monotonic
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def reached(self, key: str) -> bool:
        """Whether the key has failed too often within the window."""
        return self.count(key) == self._limit

    def count(self, key: str) -> int:
        """Return how often the key has failed within the window, up to the limit."""
        since = self._monotonic() - WINDOW_S
        return sum(at > since for at in self._times.get(key, ()))

    def add(self, key: str) -> None:
        """Remember that a try failed now."""
        now = self._monotonic()
        self._times.setdefault(key, deque(maxlen=self._limit)).append(now)
        self._times.move_to_end(key)
        while len(self._times) > self._max_keys or now - next(iter(self._times.values()))[-1] >= WINDOW_S:
            self._times.popitem(last=False)


class LoginThrottle:
    """Counts wrong passwords: 5 from one address (IPv6: one /64) and 50 for one name, within 5 minutes.

    Each process counts for itself. Right passwords change nothing: an attacker who knows one must not reset the count
    for others.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._addresses = _Failures(OF_ADDRESS, monotonic)
        self._accounts = _Failures(OF_ACCOUNT, monotonic)
        self._guessers = _Failures(OF_GUESSER, monotonic, MAX_GUESSERS)

    def blocks_address(self, address: str) -> bool:
        """Whether too much from this address was wrong."""
        return self._addresses.reached(bucket_of(address))

    def failures_of(self, address: str) -> int:
        """Return how much from this address was wrong lately."""
        return self._addresses.count(bucket_of(address))

    def blocks_account(self, name: str) -> bool:
        """Whether too much for this name was wrong, wherever it came from; also for names that do not exist."""
        return self._accounts.reached(_short(name))

    def blocks_guesser(self, address: str) -> bool:
        """Whether an address that is blocked went on guessing."""
        return self._guessers.reached(bucket_of(address))

    def count_guess(self, address: str) -> None:
        """Count a pair that was not looked at because the address is blocked."""
        self._guessers.add(bucket_of(address))

    def count(self, address: str, name: str) -> None:
        """Count a wrong password."""
        self._addresses.add(bucket_of(address))
        self._accounts.add(_short(name))


def _short(name: str) -> str:
    """Return a key of bounded length: a name may be as long as a body."""
    return sha256(name.encode(errors="surrogatepass")).hexdigest()
