"""The triggers of a data directory as the rest of the program uses them."""

from dataclasses import dataclass

from tocsin.features.context import FeatureContext
from tocsin.features.triggers.actions import ActionDependencies
from tocsin.features.triggers.rules import FILE_NAME, Triggers
from tocsin.features.triggers.service import TriggerHandler, no_rule
from tocsin.messaging.inbound.handling import Handler


@dataclass(frozen=True, slots=True)
class OpenTriggers:
    """The rules, and what a handler of them needs."""

    rules: Triggers
    context: FeatureContext


def open_triggers(context: FeatureContext) -> OpenTriggers:
    """Return the triggers of the data directory."""
    return OpenTriggers(Triggers(context.data_dir / FILE_NAME), context)


def handler_of(triggers: OpenTriggers) -> TriggerHandler:
    """Return the handler of messages that a rule matches."""
    context = triggers.context
    parts = ActionDependencies(
        runs=context.runs(),
        environment=context.environment,
        data_dir=context.data_dir,
        ask=context.can.ask,
        run_skill=context.can.run_skill,
        cause_of=context.can.cause_of,
    )
    return TriggerHandler(triggers.rules, parts, context.audit, indicating=context.can.indicate)


def tell_unknown_commands(_: OpenTriggers) -> Handler:
    """Return the handler of commands that nothing else took."""
    return no_rule
