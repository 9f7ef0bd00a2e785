"""The actions of rules: a shell command, a question to the chat provider, or a skill.

Words of strangers reach a program as arguments, variables or standard input, never as code.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.channels.contract import COMMONMARK, PLAIN
from tocsin.core.errors import TocsinError
from tocsin.core.text.shell import shell_argv
from tocsin.core.text.strings import storable
from tocsin.features.context import Abilities
from tocsin.features.triggers.answers import READ_CHARS, answer_of, shorten_markdown
from tocsin.features.triggers.captures import substitute
from tocsin.features.triggers.feature import TRIGGERS
from tocsin.features.triggers.rules import Match, TriggerAction
from tocsin.messaging.inbound.attribution import quotation
from tocsin.messaging.inbound.handling import MessageContext, Reply
from tocsin.runs.model import Command, Run, RunResult, RunSpec, RunStatus
from tocsin.runs.recorder import RunHandle, Work, command
from tocsin.runs.service import Runs
from tocsin.runs.store import MAX_PAGE

log = logging.getLogger(__name__)

KIND = "trigger"
SHELL_TIMEOUT_S = 120.0  # docs/triggers.md, "Shell"
# Linux takes 131,071 bytes in one argument or variable (MAX_ARG_STRLEN), macOS 1 MiB in all of them.
MAX_VALUE_BYTES = 100_000
MAX_CAPTURES_BYTES = 400_000


@dataclass(frozen=True, slots=True)
class ActionDependencies:
    """The dependencies of actions."""

    runs: Runs
    environment: Callable[[], Mapping[str, str]]  # of this process, without our secrets
    data_dir: Path  # where shell commands run
    abilities: Abilities
    timeout_s: float = SHELL_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Firing:
    """One rule that fires for one message."""

    match: Match
    received: MessageContext

    @property
    def actor(self) -> str:
        """For whom it runs."""
        return f"chat:{self.received.message.chat_id}"

    @property
    def text(self) -> str:
        """The message as programs can take it: what a person wrote, or the message whose button was pressed."""
        press = self.received.press
        return clean(press.text if press else self.received.message.text)


class Actions:
    """Runs the action of a rule and makes the answer from its run."""

    def __init__(self, parts: ActionDependencies) -> None:
        self._parts = parts

    async def run(self, firing: Firing) -> Run:
        """Run the action to its end; raises StoreUnavailableError if nothing was started, as it cannot be recorded."""
        work = {TriggerAction.SHELL: self._shell, TriggerAction.CLAUDE: self._ask, TriggerAction.SKILL: self._skill}
        return await self._parts.runs.execute(self._order(firing), work[firing.match.rule.action](firing))

    async def earlier(self, firing: Firing) -> Run | None:
        """Return the run of an earlier attempt to handle the same message.

        That of a rule that does not repeat has the ID of the event, and is recorded before its command starts.
        """
        if not firing.match.rule.repeat:
            return next(iter(await self._parts.runs.store.several([firing.received.id])), None)
        found = await self._parts.runs.search(KIND, firing.match.rule.id, limit=MAX_PAGE)
        return next((run for run in found.items if run.params.get("event") == firing.received.id), None)

    async def reply(self, firing: Firing, run: Run) -> Reply:
        """Return the answer to a message: the output of its run, and how it ended."""
        # Where the log could not be written or found, the record has at least the last lines.
        try:
            output = await self._parts.runs.text(run.id, READ_CHARS)
        except TocsinError as error:  # it has run: an error from here would have it run again
            log.warning("the output of a run cannot be read", extra={"run": run.id, "reason": error.sentence()})
            output = ""
        output = output or run.output.tail
        if firing.match.rule.action is TriggerAction.CLAUDE and run.ok:
            return Reply(shorten_markdown(output), COMMONMARK)
        return Reply(answer_of(run, output), PLAIN)

    def _shell(self, firing: Firing) -> Work:
        return command(shell_command(firing, self._parts))

    def _ask(self, firing: Firing) -> Work:
        async def work(handle: RunHandle) -> RunResult:
            prompt = substitute(firing.match.rule.command, firing.match.captures)
            quoted = clean(quotation(firing.received.message))
            question = f"{prompt}\n\n{quoted}" if quoted else prompt
            answer = await self._parts.abilities.models.ask(question, firing.text)
            if not answer.strip():
                raise EmptyAnswerError("the chat provider sent an empty answer")
            handle.write("stdout", answer)
            return RunResult(RunStatus.SUCCEEDED)

        return work

    def _skill(self, firing: Firing) -> Work:
        name, *words = firing.match.rule.words
        # Each word stays one argument, whatever is put into it.
        arguments = fit([substitute(word, firing.match.captures) for word in words] or firing.match.groups)

        async def work(handle: RunHandle) -> RunResult:
            child = await self._parts.abilities.skills.run(
                name,
                source=TRIGGERS.name,
                cause=self._parts.abilities.bot.cause(firing.received.message),
                actor=firing.actor,
                args=arguments,
                input=firing.text,
                part_of=handle.run_id,
            )
            handle.write("stdout", await self._parts.runs.text(child.id, READ_CHARS) or child.output.tail)
            return RunResult(child.status, child.reason, child.exit_code, child.signal, child.error)

        return work

    def _order(self, firing: Firing) -> RunSpec:
        rule, message = firing.match.rule, firing.received.message
        return RunSpec(
            KIND,
            rule.id,
            rule.pattern.source,
            self._parts.abilities.bot.cause(message),
            actor=firing.actor,
            params={
                "rule": rule.number,
                "action": rule.action.value,
                "channel": message.channel,
                "event": firing.received.id,
                "repeat": rule.repeat,
            },
            env_keys=tuple(sorted(_variables(firing))) if rule.action is TriggerAction.SHELL else (),
            attempt=firing.received.attempt,
            max_attempts=firing.received.attempt,  # the inbox decides whether there is another one
            source=TRIGGERS.name,
            id="" if rule.repeat else firing.received.id,
        )


class EmptyAnswerError(TocsinError):
    """The chat provider had nothing to say."""

    code = "trigger-unusable"


def shell_command(firing: Firing, parts: ActionDependencies) -> Command:
    """Return the child process of a shell rule: captures are positional parameters, and so can never be code."""
    captures = fit(firing.match.groups)
    return Command(
        argv=shell_argv(firing.match.rule.command, "trigger", *captures),
        env={**parts.environment(), **_variables(firing)},
        cwd=parts.data_dir,
        timeout_s=parts.timeout_s,
    )


def _variables(firing: Firing) -> dict[str, str]:
    """Return the variables of a command. Words of strangers are in TRIGGER_MESSAGE, ACTION_BY and ACTION_VALUE."""
    message, text = firing.received.message, firing.text
    values = {
        "TRIGGER_MESSAGE": cut(text, MAX_VALUE_BYTES),
        "TRIGGER_CHANNEL": clean(message.channel),
        "TRIGGER_CHAT": clean(message.chat_id),
        "TRIGGER_SENDER": clean(message.sender_id or ""),
        "TRIGGER_ID": firing.received.id,
        "TRIGGER_ATTEMPT": str(firing.received.attempt),
    }
    if press := firing.received.press:
        values |= {
            "ACTION_NAME": press.name,
            "ACTION_VALUE": clean(press.value),
            "ACTION_BY": clean(press.by),
            "ACTION_CHANNEL": clean(press.channel),
            "ACTION_TARGET": clean(press.target),
            "ACTION_KEY": clean(press.key),
        }
    if values["TRIGGER_MESSAGE"] != text or fit(firing.match.groups) != firing.match.groups:
        values["TRIGGER_TRUNCATED"] = "1"
    return values


def clean(text: str) -> str:
    """Return a text that an argument or a variable can hold."""
    return storable(text.replace("\0", ""))


def fit(captures: Sequence[str]) -> tuple[str, ...]:
    """Cut captures to the limits of the system for one argument and for all together."""
    room = MAX_CAPTURES_BYTES
    fitting = []
    for capture in captures:
        shortened = cut(capture, min(MAX_VALUE_BYTES, room))
        room -= len(shortened.encode())
        fitting.append(shortened)
    return tuple(fitting)


def cut(text: str, max_bytes: int) -> str:
    """Cut a text to at most `size` bytes of UTF-8, without half a character."""
    if len(text) * 4 <= max_bytes:
        return text
    return text.encode()[:max_bytes].decode("utf-8", "ignore")
