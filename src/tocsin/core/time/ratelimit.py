"""Token buckets that refill continuously."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

# A bucket is full again long before this, so removing an unused one changes no limit.
IDLE_S = 600.0
# 20 MB. A flood from more addresses within ten minutes evicts the least recently used bucket.
MAX_BUCKETS = 100_000


# A margin below a provider's limit, so that it does not reject messages.
SHARE = 0.95
# A message may be delayed by up to this share of an interval without delaying later ones. That is the cost of a claim
# on an idle machine. A larger share would let messages bunch if workers are slow: with 0.45, a busy machine sent fewer,
# because Telegram rejected more of them.
LATE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` per `period_s`, evenly spread, except for `burst` at once after a pause.

    Any one period has at most `burst` plus `count`.
    """

    count: float
    period_s: float
    burst: int = 1

    @property
    def interval_s(self) -> float:
        """Seconds between two messages."""
        return self.period_s / self.count


class RateLimiter:
    """One bucket per key, each holding `per_minute` tokens when full."""

    def __init__(self, per_minute: int, monotonic: Callable[[], float], max_buckets: int = MAX_BUCKETS) -> None:
        self.per_minute = per_minute
        self._per_second = per_minute / 60
        self._monotonic = monotonic
        self._max_buckets = max_buckets
        # key -> tokens left and their time; the least recently used comes first
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def left(self, key: str) -> float:
        """Return the number of tokens left for `key`."""
        full = float(self.per_minute)
        left, since = self._buckets.get(key, (full, 0.0))
        return min(full, left + (self._monotonic() - since) * self._per_second)

    def take(self, key: str) -> bool:
        """Take a token of `key`; return False if none is left."""
        now = self._monotonic()
        full = float(self.per_minute)
        left, since = self._buckets.pop(key, (full, now))
        left = min(full, left + (now - since) * self._per_second)
        allowed = left >= 1
        self._buckets[key] = (left - allowed, now)
        self._forget_idle(now)
        return allowed

    def _forget_idle(self, now: float) -> None:
        while len(self._buckets) > self._max_buckets or now - next(iter(self._buckets.values()))[1] >= IDLE_S:
            self._buckets.popitem(last=False)


class AwaitedLimiter(Protocol):
    """One bucket per key that several processes share, so that taking a token is asynchronous."""

    per_minute: int

    async def take(self, key: str) -> float | None:
        """Take a token of `key`; return the number left, or `None` if there was none."""


Limiter = RateLimiter | AwaitedLimiter
# Returns the shared limiter of a name; takes the tokens per minute.
MakeLimiter = Callable[[str, int], Limiter]
