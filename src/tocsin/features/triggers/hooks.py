"""The triggers of a data directory as the rest of the program uses them."""

from asyncio import to_thread
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tocsin.features.context import AttentionItem, FeatureContext, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks
from tocsin.features.triggers.rules import FILE_NAME, Triggers

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class OpenTriggers:
    """The rules, and the dependencies of their handler."""

    rules: Triggers
    context: FeatureContext


def open_triggers(context: FeatureContext) -> OpenTriggers:
    """Return the triggers of the data directory."""
    return OpenTriggers(Triggers(context.data_dir / FILE_NAME), context)


async def check_subsystem(triggers: OpenTriggers) -> SubsystemStatus:
    """Return the mistakes of the present file, and nothing else: rules are no subsystem of their own."""
    problem = await to_thread(lambda: triggers.rules.problem)
    if not problem:
        return SubsystemStatus(SubsystemState.DISABLED, "")
    told = f"the triggers file has errors: {problem}"
    return SubsystemStatus(SubsystemState.DEGRADED, "", attention=[AttentionItem(NoticeLevel.ERROR, told, "#/msg")])


HOOKS = FeatureHooks[OpenTriggers](
    open=open_triggers,
    subsystems={"messaging": check_subsystem},
)
