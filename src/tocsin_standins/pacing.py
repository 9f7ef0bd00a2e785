"""Rate limits of the stand-ins: sliding windows and buckets."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field

# Short bursts pass; the products do not document how short.
BURST = 5


@dataclass(slots=True)
class Bucket:
    """One use per key every `per_s` seconds, and `BURST` at once after a pause."""

    per_s: float
    _full_at: dict[Hashable, float] = field(default_factory=dict)

    def take(self, key: Hashable, now: float) -> float:
        full_at = max(now, self._full_at.get(key, now)) + self.per_s
        wait_s = full_at - BURST * self.per_s - now
        if wait_s > 0:
            return wait_s
        self._full_at[key] = full_at
        return 0.0


@dataclass(slots=True)
class SlidingWindow:
    """At most `limit` uses per key in any `per_s` seconds."""

    limit: int
    per_s: float
    _uses: defaultdict[Hashable, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def take(self, key: Hashable, now: float) -> float:
        uses = self._fresh(key, now)
        if len(uses) >= self.limit:
            return uses[0] + self.per_s - now
        uses.append(now)
        return 0.0

    def remaining(self, key: Hashable, now: float) -> int:
        """Count the uses left at this moment."""
        return self.limit - len(self._fresh(key, now))

    def reset_after(self, key: Hashable, now: float) -> float:
        """Seconds until the whole limit is free again."""
        uses = self._fresh(key, now)
        return uses[-1] + self.per_s - now if uses else 0.0

    def _fresh(self, key: Hashable, now: float) -> deque[float]:
        uses = self._uses[key]
        while uses and uses[0] <= now - self.per_s:
            uses.popleft()
        return uses
