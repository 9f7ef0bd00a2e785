"""Limits of the log lines about rejected requests, so that a flood of them cannot fill the disk."""

from collections.abc import Callable

from tocsin.core.time.ratelimit import RateLimiter
from tocsin.web.http.clients import bucket_key

OF_ADDRESS_PER_MINUTE, OF_ALL_PER_MINUTE = 1, 60
MAX_ADDRESSES = 10_000


class RefusalLog:
    """Allows one line per minute for each address and reason, and 60 per minute in total."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._of_address = RateLimiter(OF_ADDRESS_PER_MINUTE, monotonic, MAX_ADDRESSES)
        self._of_all = RateLimiter(OF_ALL_PER_MINUTE, monotonic)

    def admits(self, address: str, reason: str) -> bool:
        """Return True if this rejection is to be logged."""
        return self._of_address.take(f"{bucket_key(address)} {reason}") and self._of_all.take("")
