"""The commands of the bot, and the buttons with the same effect."""

import logging
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from tocsin.bot import keyboards
from tocsin.bot.contract import (
    LABELS,
    ChatMode,
    RunSkillForChat,
    SkillResult,
    StatusLines,
    answered,
    failed,
    history_key,
    ignored,
)
from tocsin.bot.executor import ChatExecutor, TaskContext, was_rejected
from tocsin.bot.persistence import BotPersistence
from tocsin.bot.pressed import in_place, show_progress
from tocsin.bot.talk.conversation_buffer import ConversationBuffer
from tocsin.bot.talk.sessions import SessionEntry, Sessions
from tocsin.channels.conversation import ConversationAdapter
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import truncate
from tocsin.features.abilities import RunnableSkills
from tocsin.features.ability_records import SkillInfo
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext

log = logging.getLogger(__name__)

Command = Callable[[MessageContext], Awaitable[HandlerResult]]

DESCRIPTIONS = {
    "start": "start, or ask for access",
    "help": "list the commands",
    "status": "show mode, history and running work",
    "skills": "list the installed skills",
    "run": "run a skill: /run name input",
    "runs": "list the latest runs",
    "mode": "switch between chat and skill mode",
    "history": "show the messages that the chat model remembers",
    "reset": "delete the history of this chat",
    "cancel": "cancel running work",
}
ADMIN_DESCRIPTIONS = {
    "approve": "allow a chat: /approve 123456789",
    "deny": "deny a chat: /deny 123456789",
}
MAX_OUTPUT = 4_000  # characters of a skill's output, as for triggers
MAX_SHOWN = 160  # characters per message in /history: 20 of them fit into one reply
WELCOME = "Hello! Send me a message, or one of these commands:"
NO_SKILLS = "No skills are installed."
NO_RUNS = "No runs yet."
NO_HISTORY = "I have no history of this chat."
HISTORY_CLEARED = "I have deleted the history of this chat."
IDLE = "I am not working on anything in this chat."


class FurtherCommand(NamedTuple):
    """A command that a feature provides."""

    help: str
    answer: Callable[[InboundMessage], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class CommandDependencies:
    """The parts of the program that commands use."""

    skills: RunnableSkills
    run_skill: RunSkillForChat
    status_lines: StatusLines  # such as the states of the queue and of cron jobs
    run_lines: StatusLines  # the newest runs, one per line
    provider: str = ""  # name of the chat model for people; empty if there is none
    max_history: int = 20
    # By chat model: the step that the operator must take before it works again.
    model_problems: Callable[[], Mapping[str, str]] = dict
    further: Mapping[str, FurtherCommand] = field(default_factory=dict)  # by name; the bot's own commands have priority

    def descriptions(self) -> dict[str, str]:
        """Return the `/help` text of every command except the admin's."""
        return DESCRIPTIONS | {name: each.help for name, each in self.further.items() if name not in DESCRIPTIONS}


class Commands:
    """Handles every command of an allowed chat."""

    def __init__(
        self,
        executor: ChatExecutor,
        persistence: BotPersistence,
        sessions: Sessions,
        buffer: ConversationBuffer,
        dependencies: CommandDependencies,
        channel: ConversationAdapter,
        admin: str = "",
    ) -> None:
        self._executor = executor
        self._persistence = persistence
        self._sessions = sessions
        self._buffer = buffer
        self._dependencies = dependencies
        self._channel = channel
        self._admin = admin
        self._commands: Mapping[str, Command] = {
            "start": self._start,
            "help": self._help,
            "status": self.status,
            "skills": self._skills,
            "run": self._run,
            "runs": self._runs,
            "mode": self._mode,
            "history": self._history,
            "reset": self._reset,
            "cancel": self._cancel,
        }

    async def __call__(self, received: MessageContext) -> HandlerResult:
        """Answer a command. An unknown command is answered with a hint; in groups, only if it names the bot."""
        message = received.message
        name = message.command or ""
        if command := self._commands.get(name):
            return await command(received)
        if further := self._dependencies.further.get(name):
            return await _answer_further(name, further, message)
        if is_for_others(message, self._commands):
            return ignored("a command for another bot")
        return answered(f"Unknown command: /{name}. /help lists the commands.")

    async def press(self, received: MessageContext, prefix: str, rest: str) -> HandlerResult | None:
        """Answer a pressed button; `None` if the button is not one of the bot's own."""
        if prefix == keyboards.MODE and rest in set(ChatMode):
            return in_place(received.message, await self._switch(received, ChatMode(rest)))
        if prefix == keyboards.SKILL:
            result = await self._press_skill(received, rest)
            # After a rejection the button stays, so that it can be pressed again.
            return result if was_rejected(result) else in_place(received.message, result)
        if prefix == keyboards.CANCEL and not rest:
            return await self._cancel(received)
        if prefix == keyboards.CANCEL and await self._executor.cancel(received, rest):
            return HandlerResult(
                HandlingStatus.ANSWERED, reason="cancelled by its button"
            )  # the edited message with the button shows it
        return None

    async def _start(self, received: MessageContext) -> HandlerResult:
        return answered(f"{WELCOME}\n\n{self._list(received)}")

    async def _help(self, received: MessageContext) -> HandlerResult:
        return answered(self._list(received))

    def _list(self, received: MessageContext) -> str:
        of_admin = ADMIN_DESCRIPTIONS if received.message.chat_id == self._admin else {}
        shown = self._dependencies.descriptions() | of_admin
        return "\n".join(f"/{name}: {description}" for name, description in shown.items())

    async def status(self, received: MessageContext) -> HandlerResult:
        """Show mode, history, active work, the queue, cron jobs and the chat model."""
        message, gate = received.message, self._executor.gate
        chat = message.chat_id
        remembered = len(await self._sessions.get(history_key(message)))
        lines = [
            f"Mode: {await self._persistence.mode(chat)}",
            f"History: {remembered} of {self._dependencies.max_history} messages",
            f"In progress: {gate.running(chat)} of {gate.per_chat} here, {gate.running()} of {gate.overall} in total",
            f"Waiting: {gate.waiting(chat)} here (at most {gate.overflow}), {gate.waiting()} in total",
            *await self._other_lines(),
            f"Chat model: {self._dependencies.provider or 'none'}",
            *self._model_lines(with_reason=chat == self._admin),
        ]
        return answered("\n".join(lines))

    def _model_lines(self, *, with_reason: bool) -> list[str]:
        problems = self._dependencies.model_problems().items()
        if with_reason:
            return [f"{model} cannot be used: {reason}" for model, reason in problems]
        return [f"{model} cannot be used; the operator must fix it" for model, _ in problems]

    async def _other_lines(self) -> Sequence[str]:
        try:
            return await self._dependencies.status_lines()
        except TocsinError as error:
            log.warning("part of the status is missing", extra={"reason": error.sentence()})
            return ["Queue and cron: currently unknown"]

    async def _skills(self, received: MessageContext) -> HandlerResult:
        return await self._show_page(0)

    async def _show_page(self, page: int) -> HandlerResult:
        skills = await self._dependencies.skills.list(every=True)
        if not skills:
            return answered(NO_SKILLS)
        page = min(page, keyboards.pages(skills) - 1)
        return answered(skills_text(skills, page), buttons=keyboards.skills_keyboard(skills, page))

    async def _press_skill(self, received: MessageContext, rest: str) -> HandlerResult:
        if (page := keyboards.parse_page(rest)) is not None:
            return await self._show_page(page)
        installed = {skill.name: skill for skill in await self._dependencies.skills.list(every=True)}
        name = keyboards.find_skill(rest, installed)
        if name is None:
            return answered("That skill is no longer installed. /skills lists the installed skills.")
        return await self._run_if_possible(received, installed[name], "")

    async def _run(self, received: MessageContext) -> HandlerResult:
        name, _, rest = received.message.args.strip().partition(" ")
        if not name:
            return answered("Which skill? Send /run and its name; /skills lists the installed skills.")
        installed = {skill.name: skill for skill in await self._dependencies.skills.list(every=True)}
        if name not in installed:
            return answered(f"Unknown skill: {truncate(name, 100)}. /skills lists the installed skills.")
        return await self._run_if_possible(received, installed[name], rest.strip())

    async def _run_if_possible(self, received: MessageContext, skill: SkillInfo, rest: str) -> HandlerResult:
        if skill.reason:
            return answered(f"Skill {skill.name} is not available: {skill.reason}.")
        return await self._executor.do(received, partial(self._run_skill, skill.name, rest))

    async def _run_skill(self, name: str, rest: str, work: TaskContext) -> HandlerResult:
        message = work.received.message
        await show_progress(self._channel, message, f"Running {name} …")
        actor = f"chat:{message.chat_id}"
        try:
            result = await self._dependencies.run_skill(name, args=tuple(rest.split()), input=rest, actor=actor)
        except TocsinError as error:
            return failed(f"Skill {name} did not run: {error.sentence()}", error.sentence())
        text = result_text(name, result)
        return answered(text) if result.run.ok else failed(text, f"run {result.run.id} ended as {result.run.status}")

    async def _runs(self, received: MessageContext) -> HandlerResult:
        return answered("\n".join(await self._dependencies.run_lines()) or NO_RUNS)

    async def _mode(self, received: MessageContext) -> HandlerResult:
        wanted = received.message.args.strip().lower()
        if wanted in set(ChatMode):
            return await self._switch(received, ChatMode(wanted))
        current = await self._persistence.mode(received.message.chat_id)
        unknown = f"Unknown mode: {truncate(wanted, 50)}. " if wanted else ""
        return answered(f"{unknown}This chat is in {current} mode.", buttons=keyboards.mode_keyboard(current))

    async def _switch(self, received: MessageContext, mode: ChatMode) -> HandlerResult:
        await self._persistence.set_mode(received.message.chat_id, mode)
        meaning = {
            ChatMode.CHAT: "Chat mode: your messages go to the chat model.",
            ChatMode.SKILL: "Skill mode: I look for skills that match your message, and run them after you confirm.",
        }
        return answered(meaning[mode])

    async def _history(self, received: MessageContext) -> HandlerResult:
        entries = await self._sessions.get(history_key(received.message))
        return answered(history_text(entries) if entries else NO_HISTORY)

    async def _reset(self, received: MessageContext) -> HandlerResult:
        await self._executor.shared.forget(received)
        await self._buffer.clear(history_key(received.message))
        return answered(HISTORY_CLEARED)

    async def _cancel(self, received: MessageContext) -> HandlerResult:
        count = await self._executor.cancel(received)
        if not count:
            return answered(IDLE)
        return answered("Cancelled." if count == 1 else f"Cancelled {count} jobs.")


async def _answer_further(name: str, command: FurtherCommand, message: InboundMessage) -> HandlerResult:
    try:
        return answered(await command.answer(message))
    except TocsinError as error:
        return failed(f"/{name} failed: {error.sentence()}", error.sentence())


def is_for_others(message: InboundMessage, known: Container[str | None]) -> bool:
    """Return True if a command is unknown and, in a group, may be meant for another bot."""
    unknown = message.kind is MessageKind.COMMAND and message.command not in known
    return unknown and message.chat_type != "private" and not message.mentions_bot


def history_text(entries: Sequence[SessionEntry]) -> str:
    """Return the beginning of each message, with the length of those that are cut."""
    return "\n".join(f"{LABELS[entry.role]}: {_beginning(entry.content)}" for entry in entries)


def _beginning(content: str) -> str:
    said = content.strip()
    line = said.partition("\n")[0].rstrip()
    if len(line) > MAX_SHOWN:
        line = truncate(line, MAX_SHOWN).removesuffix("…").rstrip()
    return said if line == said else f"{line} … ({len(said):,} characters)"


def skills_text(skills: Sequence[SkillInfo], page: int) -> str:
    """Return names and descriptions of the skills on one page, counted from 0."""
    shown = skills[page * keyboards.PER_PAGE : (page + 1) * keyboards.PER_PAGE]
    pages = keyboards.pages(skills)
    head = f"Installed skills, page {page + 1} of {pages}:" if pages > 1 else "Installed skills:"
    return "\n".join([head, *map(_skill_line, shown)])


def _skill_line(skill: SkillInfo) -> str:
    line = f"{skill.name}: {truncate(skill.description, 100)}" if skill.description else skill.name
    return f"{line} (not available: {skill.reason})" if skill.reason else line


def result_text(name: str, result: SkillResult) -> str:
    """Return the text for a person about a run: its output, preceded by the error if it failed."""
    output = result.text.strip()
    if result.run.ok:
        return truncate(output, MAX_OUTPUT) if output else f"Skill {name} has finished without output."
    reason = f": {result.run.reason}" if result.run.reason else ""
    head = f"Skill {name} ended as {str(result.run.status).replace('_', ' ')}{reason}"
    return truncate(f"{head}\n\n{output}".strip(), MAX_OUTPUT)
