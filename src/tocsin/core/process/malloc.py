"""Memory that the C library keeps after it was freed."""

import sys


def give_back_memory() -> None:
    """Return to the system what the allocator keeps for later; takes about a millisecond. Only glibc keeps so much."""
    if sys.platform != "linux":
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
