"""The checks of `tocsin doctor` for memory."""

from collections.abc import AsyncIterator

from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.memory.service import Memories
from tocsin.terminal.findings import Finding

MANY = 500_000  # entries; beyond that, searching for frequent words takes more than a second


async def check_memory(memory: Memories) -> AsyncIterator[Finding]:
    if not memory.may_exist:
        yield Finding("off", "memory", "no entries", "tocsin memory set KEY VALUE")
        return
    stats = await memory.stats()
    count = stats.count
    if count > MANY:
        detail = f"{count:,} entries make searches slow"
        yield Finding("warning", "memory", detail, "give entries a half-life, and see `tocsin memory decay --dry-run`")
    elif count:
        yield Finding("ok", "memory", f"entries: {count:,}, of which {stats.fading:,} decayed")
    else:
        yield Finding("off", "memory", "no entries", "tocsin memory set KEY VALUE")


CHECKS: Checks[Memories] = (FeatureCheck(check_memory),)
