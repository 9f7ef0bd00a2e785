"""Triggers in the chain of handlers: the first rule that a message matches is run, and answers it."""

import asyncio

from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.features.triggers.actions import ActionDependencies, Actions, Firing
from tocsin.features.triggers.rules import Match, Rule, TriggerEvent, Triggers
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.runs.model import TERMINAL, Run, RunStatus

AT_ONCE = 16  # rules that run at the same time; further ones wait
# Up to that many characters all the rules of a file are through in less time than a thread takes to start.
_SHORT = 1_000
_REMEMBERED = 64  # texts whose read receipt was decided on and whose handler has not begun

NO_RULE = (
    "No trigger rule matches this use of /{name}. The operator of this bot can list the rules with "
    "`tocsin triggers list` and test a message with `tocsin triggers test`."
)

INTERRUPTED = "This command was interrupted and is not repeated. It may have taken effect."


async def no_rule(received: MessageContext) -> HandlerResult | None:
    """Stand behind all handlers: tell who typed a command that nothing is for it."""
    message = received.message
    if message.kind is not MessageKind.COMMAND:
        return None
    return HandlerResult(
        HandlingStatus.IGNORED, reason="no rule matches the command", hint=NO_RULE.format(name=message.command)
    )


class TriggerHandler:
    """A handler of received messages: concerned when a rule matches, else the next one is asked."""

    def __init__(
        self,
        triggers: Triggers,
        parts: ActionDependencies,
    ) -> None:
        self._triggers = triggers
        self._actions = Actions(parts)
        self._bot = parts.abilities.bot
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._found: dict[str, tuple[tuple[Rule, ...], Match | None]] = {}  # with the rules that were tried

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Run the rule that matches."""
        if received.press is not None:
            match = self._triggers.match(received.press.name, TriggerEvent.ACTION)
        elif self._concerned(received.message):
            match = await self._find(received.message.text, again=False)
        else:
            return None
        if match is None:
            return None
        firing = Firing(match, received)
        # What may not repeat is looked up at every attempt: the store may have recorded it without confirming that.
        may_have_begun = received.attempt > 1 or not match.rule.repeat
        if may_have_begun and (result := await self._again(firing)):
            return result
        async with self._slots, self._bot.indicate(received.message):
            await received.begin()
            return await self._result(firing, await self._actions.run(firing))

    async def matches(self, message: InboundMessage) -> bool:
        return self._concerned(message) and await self._find(message.text, again=True) is not None

    def _concerned(self, message: InboundMessage) -> bool:
        """Whether rules are tried: not for edits, buttons and messages without text."""
        typed = message.kind in {MessageKind.MESSAGE, MessageKind.COMMAND}
        return typed and bool(message.text)

    async def _find(self, text: str, *, again: bool) -> Match | None:
        """Return the match of a text; `again` says that the handler will soon ask about the same text."""
        rules, found = self._triggers.all(), self._found.pop(text, None)
        if found is not None and found[0] is rules:
            match = found[1]
        elif len(text) <= _SHORT:
            match = self._triggers.match(text)
        else:
            match = await asyncio.to_thread(self._triggers.match, text)
        if again:
            self._found[text] = rules, match
            if len(self._found) > _REMEMBERED:
                del self._found[next(iter(self._found))]
        return match

    async def _again(self, firing: Firing) -> HandlerResult | None:
        """Return the result of a message whose rule has begun before; `None` if it has not, or may run again."""
        earlier = await self._actions.earlier(firing)
        if earlier is not None and earlier.status in TERMINAL - {RunStatus.INTERRUPTED}:
            return await self._result(firing, earlier)  # only its answer was not stored
        rule = firing.match.rule
        if rule.repeat or earlier is None:
            return None
        replies = (Reply(INTERRUPTED),) if rule.reply else ()
        hint = INTERRUPTED if firing.received.press and not rule.reply else ""
        reason = f"trigger rule {rule.number}: interrupted, not repeated"
        return HandlerResult(HandlingStatus.FAILED, replies, reason, hint)

    async def _result(self, firing: Firing, run: Run) -> HandlerResult:
        rule = firing.match.rule
        ending = HandlingStatus.ANSWERED if run.ok else HandlingStatus.FAILED
        replies = (await self._actions.reply(firing, run),) if rule.reply else ()
        return HandlerResult(ending, replies, f"trigger rule {rule.number}: {run.status}")
