"""Identifiers that sort by time: UUIDv7 (RFC 9562)."""

import os
import time

# The first digit of the fourth group has two random bits; the other two name the variant.
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def new_id() -> str:
    """Return a new UUIDv7 in its usual spelling."""
    at = f"{time.time_ns() // 1_000_000:012x}"
    random = os.urandom(10).hex()
    variant = _VARIANT[random[3]]
    return f"{at[:8]}-{at[8:]}-7{random[:3]}-{variant}{random[4:7]}-{random[8:]}"
