"""The triggers of a data directory as the rest of the program uses them."""

from asyncio import to_thread
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tocsin.features.context import AttentionItem, FeatureContext, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks
from tocsin.features.triggers.rules import FILE_NAME, Triggers

if TYPE_CHECKING:
    from tocsin.features.triggers.run_type import TriggerRuns
    from tocsin.features.triggers.service import TriggerHandler
    from tocsin.messaging.inbound.handling import Handler


@dataclass(frozen=True, slots=True)
class OpenTriggers:
    """The rules, and what a handler of them needs."""

    rules: Triggers
    context: FeatureContext


def open_triggers(context: FeatureContext) -> OpenTriggers:
    """Return the triggers of the data directory."""
    return OpenTriggers(Triggers(context.data_dir / FILE_NAME), context)


def handler_of(triggers: OpenTriggers) -> "TriggerHandler":
    """Return the handler of messages that a rule matches."""
    # The status needs the rules alone.
    from tocsin.features.triggers.actions import ActionDependencies
    from tocsin.features.triggers.service import TriggerHandler

    context = triggers.context
    parts = ActionDependencies(
        runs=context.runs(),
        environment=context.environment,
        data_dir=context.data_dir,
        abilities=context.abilities,
    )
    return TriggerHandler(triggers.rules, parts)


def run_type_of(triggers: OpenTriggers) -> "TriggerRuns":
    """Return what the engine asks about runs of rules."""
    from tocsin.features.triggers.run_type import TriggerRuns

    return TriggerRuns(triggers.context.abilities.notices)


async def subsystem_of(triggers: OpenTriggers) -> SubsystemStatus:
    """Return the mistakes of the present file, and nothing else: rules are no subsystem of their own."""
    problem = await to_thread(lambda: triggers.rules.problem)
    if not problem:
        return SubsystemStatus(SubsystemState.DISABLED, "")
    told = f"the triggers file has errors: {problem}"
    return SubsystemStatus(SubsystemState.DEGRADED, "", attention=[AttentionItem(NoticeLevel.ERROR, told, "#/msg")])


def tell_unknown_commands(_: OpenTriggers) -> "Handler":
    """Return the handler of commands that nothing else took."""
    from tocsin.features.triggers.service import no_rule

    return no_rule


HOOKS = FeatureHooks[OpenTriggers](
    open=open_triggers,
    subsystems={"messaging": subsystem_of},
    handlers=(handler_of,),
    last_handlers=(tell_unknown_commands,),
    run_types={"trigger": run_type_of},
)
