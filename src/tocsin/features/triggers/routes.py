"""The operations on trigger rules."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tocsin.core.reading.fields import ChoiceType
from tocsin.core.reading.records import Written
from tocsin.features.triggers.hooks import OpenTriggers
from tocsin.features.triggers.rules import Rule, RuleTest, TriggerEvent
from tocsin.rest.bodies import RequestBody, text
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.refusals import refuse

MAX_TEXT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleList:
    """Active rules."""

    items: Sequence[Rule]
    problem: Annotated[str | None, "Reason why the current file was rejected; the last valid version is active."]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerText(RequestBody):
    """Text to test the rules with."""

    text: Annotated[str, text(MAX_TEXT, examples=("deploy web",)), "Text of a message, or name of a button."]
    on: Annotated[str, Written(ChoiceType(tuple(map(str, TriggerEvent)))), "Which rules to try."] = TriggerEvent.MESSAGE
    channel: Annotated[str, text(100), "Ignored: rules apply to all channels."] = ""


class TriggerRoutes:
    """The operations on triggers."""

    def __init__(self, opened: OpenTriggers) -> None:
        self._rules = opened.rules
        self._messenger = opened.context.messenger

    @operation("GET", "/api/triggers", extension=True, answer=RuleList)
    async def list_triggers(self) -> Any:
        """List the active rules in order of evaluation."""
        rules = await asyncio.to_thread(self._rules.all)
        problem = self._rules.problem
        return RuleList(items=rules, problem=problem.sentence() if problem else None)

    @operation("POST", "/api/triggers/test", extension=True, problems=("validation-failed",), answer=RuleTest)
    async def test_triggers(self, body: TriggerText) -> Any:
        """Show which rule matches a text, and with which captures, without running it."""
        known, channel = self._messenger.channel_names(), body.channel.strip().lower()
        if channel and channel not in known:
            raise refuse(("channel",), "bad-value", f"Unknown channel; choose from {', '.join(sorted(known))}")
        return await asyncio.to_thread(self._rules.explain, body.text, TriggerEvent(body.on))


OPERATIONS = operations_of("triggers", TriggerRoutes)
