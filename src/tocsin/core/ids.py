"""Identifiers that sort by time: UUIDv7 (RFC 9562)."""

import os
import time
from hashlib import sha256

# The first digit of the fourth group has two random bits; its other two bits are the variant.
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def new_id() -> str:
    """Return a new UUIDv7 in its canonical form; IDs of one process sort in the order of their creation.

    The 12 bits after the version hold the fraction of the millisecond (RFC 9562, 6.2, method 3), because many IDs are
    created within one millisecond.
    """
    return _uuid7(time.time_ns(), os.urandom(8).hex())


def derived_id(name: str, at: float) -> str:
    """Return the UUIDv7 that a thing made for `name` has, the same at every call; `at` is in Unix seconds."""
    return _uuid7(round(at * 1000) * 1_000_000, sha256(name.encode()).hexdigest()[:16])


def _uuid7(nanoseconds: int, random: str) -> str:
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    at = f"{milliseconds:012x}"
    return f"{at[:8]}-{at[8:]}-7{(rest << 12) // 1_000_000:03x}-{_VARIANT[random[0]]}{random[1:4]}-{random[4:]}"
