"""Hooks of triggers: handlers of received messages, and their kind of run."""

from collections.abc import Mapping
from typing import Any

from tocsin.features.hooks import WorkHooks
from tocsin.features.run_notices import NotifyingRuns
from tocsin.features.triggers.actions import ActionDependencies
from tocsin.features.triggers.feature import TRIGGER_RUN, TRIGGERS
from tocsin.features.triggers.hooks import OpenTriggers
from tocsin.features.triggers.service import TriggerHandler, no_rule
from tocsin.features.triggers.starting import StartingButtons
from tocsin.messaging.inbound.handling import Handler
from tocsin.runs.engine.run_type import RunAuditEntry, RunType
from tocsin.runs.model import Run


class TriggerRuns(NotifyingRuns, RunType):
    """Runs of rules. The inbox sends their output as the answer, and repeats interrupted runs."""

    kind = "trigger"
    source = TRIGGERS.name

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Return the notice of an interruption, unless the inbox starts the rule again."""
        return {} if run.params.get("repeat", True) else await super().note(run, output)

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry:
        """Return the `trigger.run` entry, which never holds the message's text."""
        channel, chat = run.params.get("channel"), str(run.actor).removeprefix("chat:")
        facts = {
            "channel": channel,
            "chat": chat,
            "rule": run.params.get("rule"),
            "pattern": run.subject_name,
            "action": run.params.get("action"),
            "run": run.id,
            "status": str(run.status),
        }
        detail = f"rule {run.params.get('rule')} for chat {chat} on {channel}: {run.status}"
        return RunAuditEntry(TRIGGER_RUN, detail, facts)


def handler_of(triggers: OpenTriggers) -> TriggerHandler:
    """Return the handler of messages that a rule matches."""
    context = triggers.context
    parts = ActionDependencies(
        runs=context.runs(),
        environment=context.environment,
        data_dir=context.data_dir,
        abilities=context.abilities,
    )
    return TriggerHandler(triggers.rules, parts)


def tell_unknown_commands(_: OpenTriggers) -> Handler:
    """Return the handler of commands that nothing else took."""
    return no_rule


WORK = WorkHooks[OpenTriggers](
    handlers=(lambda triggers: StartingButtons(triggers.context), handler_of),
    last_handlers=(tell_unknown_commands,),
    run_types={"trigger": lambda triggers: TriggerRuns(triggers.context.abilities.notices)},
)
