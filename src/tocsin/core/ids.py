"""Identifiers that sort by time: UUIDv7 (RFC 9562)."""

import os
import time


def new_id() -> str:
    """Return a new UUIDv7 in its usual spelling."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds << 80) | random
    value = value & ~(0xF << 76) | (0x7 << 76)  # version 7
    value = value & ~(0x3 << 62) | (0x2 << 62)  # variant of RFC 9562
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
