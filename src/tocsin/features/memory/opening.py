"""The memory of a data directory as the rest of the program uses it."""

from tocsin.features.context import FeatureContext, SubsystemState, SubsystemStatus
from tocsin.features.memory.service import Memories
from tocsin.features.memory.store import MemoryStore
from tocsin.terminal.findings import number_of


def open_memory(context: FeatureContext) -> Memories:
    """Return the memory of the data directory."""
    return Memories(MemoryStore(context.database), context.audit, context.clock, context.redact)


async def decay_daily(memory: Memories) -> None:
    """Do the daily decay, where it is due."""
    await memory.decay_daily()


async def status_of(memory: Memories) -> list[str]:
    """Return the line for `/status`."""
    stats = await memory.stats()
    if not stats["count"]:
        return ["Memory: empty"]
    entries = number_of(stats["count"], "entry").replace("entrys", "entries")
    return [f"Memory: {entries}, {stats['fading']} fading"]


async def subsystem_of(memory: Memories) -> SubsystemStatus:
    """Return the state of the memory: how many entries there are, and how many fade."""
    stats = await memory.stats()
    counts = {"entries": stats["count"], "fading": stats["fading"]}
    (line,) = await status_of(memory)
    return SubsystemStatus(SubsystemState.OK, line.removeprefix("Memory: "), counts)
