"""Composes the receiving side: the inbox, the order of the handlers, and the source of updates.

The order of the handlers is the order of the rules: access first, then triggers, then conversation.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tocsin.assembly.full.bot import (
    BotDependencies,
    build_bot,
    build_executor,
    build_sessions,
    find_conversation,
    shown_by,
    tell_through,
    use_redis,
)
from tocsin.assembly.full.operator import tell_operator
from tocsin.assembly.program import App
from tocsin.assembly.status import recent_run_lines, status_lines
from tocsin.assembly.storage import is_redis_there
from tocsin.bot.commands import CommandDependencies, FurtherCommand
from tocsin.bot.contract import ChatMode, RunSkillForChat, SkillResult
from tocsin.bot.files.attachments import Attachments
from tocsin.bot.handler import reject_without_bot
from tocsin.bot.runner import Bot
from tocsin.bot.settings import BotSettings
from tocsin.bot.skill_mode.skill_planner import SkillPlanner
from tocsin.bot.talk.chat_memory import ChatMemory
from tocsin.bot.talk.sessions import Sessions
from tocsin.channels.conversation import ConversationAdapter, ReportsMoves, UpdateSource
from tocsin.channels.inbound import InboundMessage
from tocsin.core.config.core_variables import REPLY_BRAKE
from tocsin.messaging.inbound.handling import Handler
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.presses.buttons import PressedButtons
from tocsin.messaging.inbound.presses.forwarding import PressForwarder
from tocsin.messaging.inbound.presses.handler import ActionHandler
from tocsin.messaging.inbound.work import InboxHooks, InboxWork, is_addressed
from tocsin.messaging.outbound.caller import Caller
from tocsin.providers.files.reading import read_in_child
from tocsin.providers.files.speech import Speech
from tocsin.runs.model import RunTrigger

MODELS_FOLDER = "models"
# Maximum length of the output that a chat receives from the log of a run, in characters.
MAX_RUN_TEXT = 20_000

Matches = Callable[[InboundMessage], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Receiving:
    """The receiving parts of this process; `bot` and `source` are None without a bot."""

    inbox: Inbox
    bot: Bot | None = None
    source: UpdateSource | None = None
    chat_model: Callable[[], str] = str
    use_redis: Callable[[], None] = lambda: None  # keep there from now on what processes share

    async def introduce(self) -> None:
        """Register the bot's commands with the product; a failure is only logged."""
        if self.bot is not None and self.source is not None:
            await self.bot.start()

    def state(self) -> Mapping[str, object] | None:
        """Return the state of receiving for the bot, without reasons; None if another process receives."""
        if self.source is None:
            return None
        shown = self.source.state.as_dict()
        return {name: shown[name] for name in ("mode", "status", "age_s")} | {"chat_model": self.chat_model()}


async def open_receiving(app: App, *, fetch: bool) -> Receiving:
    """Open the inbox and the bot; with `fetch`, also the source of the bot's updates.

    Raises ConfigError for settings that contradict each other.
    """
    handlers, last_handlers = app.features.handlers(), app.features.last_handlers()

    async def matches(message: InboundMessage) -> bool:
        return any([await handler.matches(message) for handler in handlers])

    chosen = app.registry.bot_channel()
    kind = chosen.spec.kind if chosen.configured else ""
    # A webhook needs no token: without the bot's access rules no message of such a channel gets any further.
    without_bot = {state.spec.kind for state in app.registry.states() if state.spec.conversation} - {kind}
    reject = partial(reject_without_bot, without_bot)
    forwarding = PressForwarder(app.registry, app.outbox)
    pressed = ActionHandler(open_buttons(app), [*handlers, forwarding], app.audit)
    if not kind:
        return Receiving(open_inbox(app, [reject, pressed, *handlers, *last_handlers], matches))
    channel = find_conversation(app.registry)
    settings = BotSettings.of(app.settings, channel.variables)
    sessions = build_sessions(settings, app.clock)
    app.bot_view().use(sessions)

    def share_sessions() -> None:
        use_redis(sessions, settings, app.redis)

    if await is_redis_there(app.settings):
        share_sessions()

    async def follow_chat(old_id: str, new_id: str) -> None:
        await app.features.abilities.chat_notes.follow(old_id, new_id)

    bot = _open_bot(app, channel, settings, sessions)
    for side in (channel, app.registry.adapter(kind)):
        if isinstance(side, ReportsMoves):
            side.on_moved(bot.access.record_move)
            side.on_moved(follow_chat)
    order: list[Handler] = [reject, bot.access_handler, pressed, *handlers, bot.handler, *last_handlers]
    inbox = open_inbox(app, order, matches, bot)
    source = channel.open_source(inbox, app.settings.data_dir, tell_operator(app)) if fetch else None
    return Receiving(inbox, bot, source, app.models().state, share_sessions)


def open_buttons(app: App) -> PressedButtons:
    """Return the buttons of messages that can be pressed."""
    return PressedButtons(app.outbox, app.stores.bot().presses, app.clock)


def open_inbox(
    app: App,
    handlers: Sequence[Handler],
    matches: Matches | None = None,
    bot: Bot | None = None,
) -> Inbox:
    """Return the inbox of this process; `handlers` are called for each event in order.

    `matches` returns whether a feature accepts a message: on channels other than the bot's, only features answer.
    """

    async def may_acknowledge(message: InboundMessage) -> bool:
        if not is_addressed(message):
            return False
        if app.registry.spec(message.channel).conversation:
            return bot is not None and await bot.may_acknowledge(message)
        return matches is not None and await matches(message)

    async def end_its_runs(owner: str) -> None:
        if app.may_have_runs():
            await app.runs().interrupt_runs_of(owner)

    loop_guard = app.stores.loop_guard(app.settings[REPLY_BRAKE])
    metrics = app.monitoring.metrics
    hooks = InboxHooks(handlers, may_acknowledge, tell_operator(app), metrics.count_handled if metrics else None)
    work = InboxWork(app.stores.inbox(), app.registry, app.outbox, app.audit, app.clock, hooks, loop_guard)
    return Inbox(
        app.stores.inbox(),
        work,
        app.audit,
        app.clock,
        app.presence(),
        before_taking_over=end_its_runs,
        on_received=metrics.count_received if metrics else None,
    )


def _open_bot(app: App, channel: ConversationAdapter, settings: BotSettings, sessions: Sessions) -> Bot:
    abilities, models = app.features.abilities, app.models()
    attachments = Attachments(channel.download, Speech(app.settings.data_dir / MODELS_FOLDER, read_in_child))
    tell, hold = tell_through(app.outbox, Caller("bot"), channel.name), app.outbox.store.hold
    stores = app.stores.bot()
    executor = build_executor(settings, stores, app.clock, channel, tell, hold=hold, indicating=abilities.bot.indicate)
    planner = SkillPlanner(
        stores.plans,
        app.audit,
        channel,
        executor,
        provider=models.find,
        skills=abilities.skills,
        run_skill=_skill_runner(app, "intake", audited=False),
    )
    for_commands = CommandDependencies(
        skills=abilities.skills,
        run_skill=_skill_runner(app, "bot"),
        status_lines=partial(status_lines, app),
        run_lines=partial(recent_run_lines, app),
        provider=models.name,
        max_history=settings.max_history,
        model_problems=models.problems,
        further=_further_commands(app, settings),
    )
    return build_bot(
        BotDependencies(
            settings=settings,
            stores=stores,
            clock=app.clock,
            audit=app.audit,
            sessions=sessions,
            channel=channel,
            tell=tell,
            executor=executor,
            for_commands=for_commands,
            provider=models.find,
            shown_as=shown_by(app.outbox, channel),
            prepare=attachments.prepare,
            chat_memory=_chat_memory(app, settings),
            free_form={ChatMode.SKILL: planner.propose},
            on_button=planner.on_button,
        )
    )


def _further_commands(app: App, settings: BotSettings) -> dict[str, FurtherCommand]:
    found = app.features.bot_commands(without="chat_notes" if settings.memory == "off" else "")
    return {name: FurtherCommand(*command) for name, command in found.items()}


def _chat_memory(app: App, settings: BotSettings) -> ChatMemory:
    abilities, use = app.features.abilities, settings.memory
    return ChatMemory(abilities.chat_notes if use != "off" else None, stores=use == "on")


def _skill_runner(app: App, source: str, *, audited: bool = True) -> RunSkillForChat:
    """Return a function that runs a skill for a chat and returns its output."""

    async def run_skill(
        name: str,
        *,
        args: tuple[str, ...],
        input: str,
        actor: str,
    ) -> SkillResult:
        run = await app.features.abilities.skills.run(
            name, source=source, cause=RunTrigger.BOT, actor=actor, args=args, input=input, audited=audited
        )
        return SkillResult(run, await app.runs().text(run.id, MAX_RUN_TEXT))

    return run_skill
