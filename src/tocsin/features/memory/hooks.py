"""The hooks of the memory feature."""

from tocsin.features.context import FeatureContext, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities
from tocsin.features.memory.chats import ChatEntries, forget_command, remember_command, show_command
from tocsin.features.memory.service import Memories
from tocsin.features.memory.store import MemoryStore


def open_memory(context: FeatureContext) -> Memories:
    """Return the memory of the data directory."""
    return Memories(MemoryStore(context.database), context.audit, context.clock, context.redact)


async def check_subsystem(memory: Memories) -> SubsystemStatus:
    """Return the state of the memory: the number of entries and of those that fade."""
    stats = await memory.stats()
    count, fading = stats.count, stats.fading
    told = f"{count:,} {'entry' if count == 1 else 'entries'}, {fading:,} decayed" if count else "empty"
    return SubsystemStatus(SubsystemState.OK, told, {"entries": count, "fading": fading})


HOOKS = FeatureHooks[Memories](
    open=open_memory,
    subsystems={"memory": check_subsystem},
    hourly=Memories.decay_daily,
    bot_commands={"remember": remember_command, "forget": forget_command, "memory": show_command},
    provides=ProvidedAbilities(chat_notes=ChatEntries),
)
