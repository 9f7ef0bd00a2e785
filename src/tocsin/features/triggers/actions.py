"""What rules run: a shell command, a question to the chat provider, or a skill.

Words of strangers reach a program as arguments, variables or standard input, never as code.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.channels.contract import COMMONMARK, PLAIN
from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import storable, truncate
from tocsin.features.abilities import Ask, CauseOf, OnEnd, RunSkill
from tocsin.features.triggers.answers import MAX_ANSWER, READ_CHARS, answer_of, shorten_markdown
from tocsin.features.triggers.captures import substitute
from tocsin.features.triggers.rules import Action, Match
from tocsin.messaging.inbound.attribution import quotation
from tocsin.messaging.inbound.handling import MessageContext, Reply
from tocsin.runs.model import Command, Run, RunResult, RunSpec, RunStatus
from tocsin.runs.recorder import RunHandle, command
from tocsin.runs.service import Runs

log = logging.getLogger(__name__)

SHELL_TIMEOUT_S = 120.0  # docs/triggers.md, "Shell"
# Linux takes 131,071 bytes in one argument or variable (MAX_ARG_STRLEN), macOS 1 MiB in all of them.
MAX_VALUE_BYTES = 100_000
MAX_CAPTURES_BYTES = 400_000


@dataclass(frozen=True, slots=True)
class ActionDependencies:
    """What actions need of the rest of the program."""

    runs: Runs
    environment: Callable[[], Mapping[str, str]]  # of this process, without our secrets
    data_dir: Path  # where shell commands run
    ask: Ask
    run_skill: RunSkill
    cause_of: CauseOf
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
        """The message as programs can take it."""
        return clean(self.received.message.text)


class Actions:
    """Runs what a rule says and returns the answer."""

    def __init__(self, parts: ActionDependencies) -> None:
        self._parts = parts

    async def run(self, firing: Firing, on_end: OnEnd) -> tuple[Run, Reply]:
        """Run to the end; `on_end` gets the ended run, also when the caller is cancelled and nothing is returned.

        Raises StoreUnavailableError when the run cannot be recorded; then nothing has started.
        """
        match firing.match.rule.action:
            case Action.SHELL:
                return await self._shell(firing, on_end)
            case Action.CLAUDE:
                return await self._ask(firing, on_end)
            case Action.SKILL:
                return await self._skill(firing, on_end)

    async def _shell(self, firing: Firing, on_end: OnEnd) -> tuple[Run, Reply]:
        child = shell_command(firing, self._parts)
        order = self._order(firing, env_keys=tuple(sorted(_variables(firing))))
        run = await self._parts.runs.execute(order, command(child), on_end=on_end)
        return run, await self._reply(run)

    async def _ask(self, firing: Firing, on_end: OnEnd) -> tuple[Run, Reply]:
        answers: list[str] = []

        async def work(recorder: RunHandle) -> RunResult:
            prompt = substitute(firing.match.rule.command, firing.match.captures)
            quoted = clean(quotation(firing.received.message))
            answer = await self._parts.ask(f"{prompt}\n\n{quoted}" if quoted else prompt, firing.text)
            if not answer.strip():
                raise EmptyAnswerError("the chat provider gave an empty answer")
            recorder.write("stdout", answer)
            answers.append(answer)
            return RunResult(RunStatus.SUCCEEDED)

        run = await self._parts.runs.execute(self._order(firing), work, on_end=on_end)
        if run.ok:
            return run, Reply(shorten_markdown(answers[0]), COMMONMARK)
        return run, Reply(answer_of(run, ""), PLAIN)

    async def _skill(self, firing: Firing, on_end: OnEnd) -> tuple[Run, Reply]:
        name, *words = firing.match.rule.words
        # Each word stays one argument, whatever is put into it.
        arguments = fit([substitute(word, firing.match.captures) for word in words] or firing.match.groups)
        try:
            run = await self._parts.run_skill(
                name,
                source="triggers",
                cause=self._parts.cause_of(firing.received.message),
                actor=firing.actor,
                args=arguments,
                input=firing.text,
                on_end=on_end,
            )
        except TocsinError as error:
            refused = RunResult(RunStatus.FAILED, error.sentence(), error={"code": error.code, "message": str(error)})
            run = await self._parts.runs.record(self._order(firing), refused)
            on_end(run)
            return run, Reply(truncate(f"failed: {error.sentence()}", MAX_ANSWER), PLAIN)
        return run, await self._reply(run)

    async def _reply(self, run: Run) -> Reply:
        # Where the log could not be written or found, the record has at least the last lines.
        try:
            output = await self._parts.runs.text(run.id, READ_CHARS)
        except TocsinError as error:  # it has run: an error from here would have it run again
            log.warning("the output of a run is not read", extra={"run": run.id, "reason": error.sentence()})
            output = ""
        return Reply(answer_of(run, output or run.output.tail), PLAIN)

    def _order(self, firing: Firing, env_keys: tuple[str, ...] = ()) -> RunSpec:
        rule, message = firing.match.rule, firing.received.message
        return RunSpec(
            "trigger",
            rule.id,
            rule.pattern.source,
            self._parts.cause_of(message),
            actor=firing.actor,
            params={"rule": rule.number, "action": rule.action.value, "channel": message.channel},
            env_keys=env_keys,
            attempt=firing.received.attempt,
            max_attempts=firing.received.attempt,  # the inbox decides whether there is another one
        )


class EmptyAnswerError(TocsinError):
    """The chat provider had nothing to say."""

    code = "trigger-unusable"


def shell_command(firing: Firing, parts: ActionDependencies) -> Command:
    """Return the child process of a shell rule: captures are positional parameters, and so can never be code."""
    captures = fit(firing.match.groups)
    return Command(
        argv=("/bin/sh", "-c", firing.match.rule.command, "trigger", *captures),
        env={**parts.environment(), **_variables(firing)},
        cwd=parts.data_dir,
        timeout_s=parts.timeout_s,
    )


def _variables(firing: Firing) -> dict[str, str]:
    """Return what a command is told beside its captures. All but the message comes from the product, not a person."""
    message, text = firing.received.message, firing.text
    values = {
        "TRIGGER_MESSAGE": cut(text, MAX_VALUE_BYTES),
        "TRIGGER_CHANNEL": clean(message.channel),
        "TRIGGER_CHAT": clean(message.chat_id),
        "TRIGGER_SENDER": clean(message.sender_id or ""),
        "TRIGGER_ID": firing.received.id,
        "TRIGGER_ATTEMPT": str(firing.received.attempt),
    }
    if values["TRIGGER_MESSAGE"] != text or fit(firing.match.groups) != firing.match.groups:
        values["TRIGGER_TRUNCATED"] = "1"
    return values


def clean(text: str) -> str:
    """Return a text that an argument or a variable can hold."""
    return storable(text.replace("\0", ""))


def fit(captures: Sequence[str]) -> tuple[str, ...]:
    """Cut captures to what the system takes in one argument, and in all together."""
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
