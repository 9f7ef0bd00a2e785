"""The composition root of everything that comes in: the order of the handlers, and what fetches updates.

The order of the handlers is the order of the rules: access first, then triggers, then conversation.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from tocsin.assembly.program import App, skills_of
from tocsin.channels.inbound import InboundMessage
from tocsin.core.config.variables import CHAT_MODEL, CHAT_PROVIDER, REDIS_URL, REPLY_BRAKE
from tocsin.core.errors import ConfigError
from tocsin.messaging.inbound.handling import Handler, Reply
from tocsin.messaging.outbound.caller import Caller

if TYPE_CHECKING:
    from tocsin.bot.assembly import Bot
    from tocsin.bot.contract import SkillInfo, SkillResult
    from tocsin.bot.source import Source
    from tocsin.bot.talk.sessions import Sessions
    from tocsin.features.skills.service import Skills
    from tocsin.features.triggers.service import TriggerHandler
    from tocsin.messaging.inbound.inbox import Inbox
    from tocsin.providers.contract import ChatProvider
    from tocsin.providers.watch import ModelWatch
    from tocsin.runs.model import Run

MODELS_FOLDER = "models"
# What a skill or an answer of a run may bring back from its log, in characters.
MAX_RUN_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Receiving:
    """What works off the events of this process; `bot` and `source` only where there is a bot."""

    inbox: "Inbox"
    bot: "Bot | None" = None
    source: "Source | None" = None
    chat_model: Callable[[], str] = str
    use_redis: Callable[[str], None] = lambda _: None  # keep what is shared at that address from now on

    async def introduce(self) -> None:
        """Tell the product which commands the bot has; that this fails is logged and stops nothing."""
        if self.bot is not None and self.source is not None:
            await self.bot.start()

    def state(self) -> Mapping[str, object] | None:
        """Return how receiving for the bot is going, where this process does it; the log has the reasons."""
        if self.source is None:
            return None
        shown = self.source.state.as_dict()
        return {name: shown[name] for name in ("mode", "status", "age_s")} | {"chat_model": self.chat_model()}


async def open_receiving(app: App, stack: AsyncExitStack, *, fetch: bool) -> Receiving:
    """Put together what works on received events; with `fetch`, also what gets them for the bot.

    Raises ConfigError for settings that contradict each other.
    """
    from tocsin.bot.contract import CHANNEL
    from tocsin.bot.handler import reject_without_bot
    from tocsin.bot.source import inbound_of, outbound_of, sessions_of, source_of, use_redis
    from tocsin.features.triggers.service import no_rule
    from tocsin.providers.watch import ModelWatch

    watch = ModelWatch()
    provider = _provider(app, stack, watch)
    skills = skills_of(app)
    triggers = _triggers(app, provider, skills)
    if CHANNEL not in app.registry.configured():
        # A webhook needs no token: without the bot's access rules nobody of that channel gets any further.
        return Receiving(inbox_of(app, [reject_without_bot, triggers, no_rule], triggers.matches))
    sessions = sessions_of(app.settings, app.clock)

    def use_redis_at(url: str) -> None:
        use_redis(sessions, app.settings, url, stack)

    if await is_redis_there(app):
        use_redis_at(app.settings[REDIS_URL])
    bot = await _open_bot(app, sessions, provider, skills, watch)
    inbound = inbound_of(app.registry)
    inbound.on_moved(bot.access.record_move)
    outbound_of(app.registry).on_moved(bot.access.record_move)
    inbox = inbox_of(app, [bot.access_handler, triggers, bot.handler, no_rule], triggers.matches, bot)
    tell_admin = _tell_admin(app, bot)
    watch.on_problem(tell_admin)
    source = source_of(app.settings, inbound, inbox, app.clock, app.settings.data_dir, tell_admin) if fetch else None
    return Receiving(inbox, bot, source, partial(_chat_model_state, app, watch), use_redis_at)


def inbox_of(
    app: App,
    handlers: Sequence[Handler],
    matches: Callable[[InboundMessage], Awaitable[bool]] | None = None,
    bot: "Bot | None" = None,
) -> "Inbox":
    """Return the inbox of this process, whose events `handlers` are asked about in order.

    `matches` says whether a trigger is for a message: on other channels than the bot's, nothing else answers.
    """
    from tocsin.bot.contract import CHANNEL
    from tocsin.messaging.inbound.inbox import Inbox
    from tocsin.messaging.inbound.loop_guard import LoopGuard
    from tocsin.messaging.inbound.work import InboxHooks, InboxWork, is_addressed

    async def may_acknowledge(message: InboundMessage) -> bool:
        if not is_addressed(message):
            return False
        if message.channel == CHANNEL:
            return bot is not None and await bot.may_acknowledge(message)
        return matches is not None and await matches(message)

    async def end_its_runs(owner: str) -> None:
        await app.runs().interrupt_runs_of(owner)

    brake = LoopGuard(app.settings[REPLY_BRAKE], app.clock.monotonic)
    duties = InboxHooks(handlers, may_acknowledge, _tell_admin(app, bot))
    work = InboxWork(app.inbox_store(), app.registry, app.outbox, app.audit, app.clock, duties, brake)
    store = app.inbox_store()
    return Inbox(store, work, app.audit, app.clock, app.presence(), before_taking_over=end_its_runs)


def _chat_model_state(app: App, watch: "ModelWatch") -> str:
    """Return how the chat model fares, for everybody: the log and the admin chat have the reasons."""
    if not app.settings[CHAT_PROVIDER]:
        return "off"
    return "failing" if watch.problems else "ok"


def _provider(app: App, stack: AsyncExitStack, watch: "ModelWatch") -> "Callable[[], Awaitable[ChatProvider | None]]":
    """Return what finds the chat model; it is made when first asked for."""
    from tocsin.providers.chat import open_chat
    from tocsin.providers.remote import named

    @cache
    def make() -> "ChatProvider | None":
        provider = open_chat(app.settings, app.clock, app.redact, watch=watch)
        if provider is not None:
            stack.push_async_callback(provider.aclose)
        return provider

    async def find() -> "ChatProvider | None":
        try:
            return make()
        except ConfigError as error:
            await watch.failed(named(app.settings[CHAT_MODEL], app.settings[CHAT_PROVIDER]), error)
            raise

    return find


def _triggers(app: App, provider: "Callable[[], Awaitable[ChatProvider | None]]", skills: "Skills") -> "TriggerHandler":
    from tocsin.bot.contract import CHANNEL
    from tocsin.features.skills.model import ExecutionMode
    from tocsin.features.skills.service import SkillRequest
    from tocsin.features.triggers.actions import ActionDependencies
    from tocsin.features.triggers.service import TriggerHandler
    from tocsin.providers.chat import HOW_TO_CONFIGURE, NOT_CONFIGURED
    from tocsin.providers.contract import ProviderError, Question, Turn
    from tocsin.runs.model import RunTrigger

    async def ask(prompt: str, message: str) -> str:
        chat = await provider()
        if chat is None:
            raise ProviderError(NOT_CONFIGURED, hint=HOW_TO_CONFIGURE)
        # Where the prompt quotes the message already, it is not there twice.
        text = prompt if message in prompt else f"{prompt}\n\n{message}"
        return (await chat.ask(Question((Turn("user", text),)))).text

    async def run_skill(
        name: str,
        args: Sequence[str],
        input: str,  # noqa: A002
        actor: str,
        cause: RunTrigger,
        on_end: "Callable[[Run], None]",
    ) -> "Run":
        return await skills.run(
            name, SkillRequest(ExecutionMode.SANDBOXED, cause, "triggers", actor, args, input, on_end=on_end)
        )

    def cause_of(message: InboundMessage) -> RunTrigger:
        return RunTrigger.BOT if message.channel == CHANNEL else RunTrigger.WEBHOOK

    means = ActionDependencies(app.runs(), app.settings.inheritable, app.settings.data_dir, ask, run_skill, cause_of)
    return TriggerHandler(app.triggers(), means, app.audit, indicating=_indicating(app))


def _indicating(app: App) -> Callable[[InboundMessage], AbstractAsyncContextManager[None]]:
    from tocsin.messaging.inbound.indicator import indicating

    def show(message: InboundMessage) -> AbstractAsyncContextManager[None]:
        return indicating(app.registry.receiver(message.channel), app.clock, message)

    return show


async def _open_bot(
    app: App,
    sessions: "Sessions",
    provider: "Callable[[], Awaitable[ChatProvider | None]]",
    skills: "Skills",
    watch: "ModelWatch",
) -> "Bot":
    from tocsin.bot.assembly import BotDependencies, build_bot, shown_by, tell_through
    from tocsin.bot.commands import CommandDependencies
    from tocsin.bot.contract import ChatMode
    from tocsin.bot.files.attachments import Attachments
    from tocsin.bot.files.reading import read_in_child
    from tocsin.bot.files.speech import Speech
    from tocsin.bot.settings import BotSettings
    from tocsin.bot.skill_mode.plans import Plans
    from tocsin.bot.skill_mode.skill_planner import SkillPlanner
    from tocsin.bot.source import files_of, inbound_of
    from tocsin.providers.remote import named

    inbound, rules = inbound_of(app.registry), BotSettings.of(app.settings)
    attachments = Attachments(
        files_of(inbound, app.settings), Speech(app.settings.data_dir / MODELS_FOLDER, read_in_child)
    )
    list_skills = partial(_list_skills, skills)
    intake = SkillPlanner(
        Plans(app.database, app.clock),
        app.audit,
        inbound.api,
        provider=provider,
        list_skills=list_skills,
        run_skill=partial(_run_skill, app, skills, "intake"),
    )
    model = named(app.settings[CHAT_MODEL], app.settings[CHAT_PROVIDER]) if app.settings[CHAT_PROVIDER] else ""
    run_skill, status_lines = partial(_run_skill, app, skills, "bot"), partial(_status_lines, app)
    abilities = CommandDependencies(
        list_skills, run_skill, status_lines, model, rules.max_history, lambda: watch.problems
    )
    bot = build_bot(
        BotDependencies(
            rules=rules,
            database=app.database,
            clock=app.clock,
            audit=app.audit,
            sessions=sessions,
            api=inbound.api,
            tell=tell_through(app.outbox, Caller("bot")),
            target_of=inbound.reply_target,
            abilities=abilities,
            provider=provider,
            shown_as=shown_by(app.outbox),
            hold=app.outbox.store.hold,
            indicating=_indicating(app),
            prepare=attachments.prepare,
            free_form={ChatMode.SKILL: intake.propose},
            on_button=intake.on_button,
        )
    )
    intake.work_at(bot.desk)
    return bot


async def _run_skill(
    app: App,
    skills: "Skills",
    source: str,
    name: str,
    *,
    args: tuple[str, ...],
    input: str,  # noqa: A002
    actor: str,
    on_end: "Callable[[Run], None] | None" = None,
) -> "SkillResult":
    from tocsin.bot.contract import SkillResult
    from tocsin.features.skills.model import ExecutionMode
    from tocsin.features.skills.service import SkillRequest
    from tocsin.runs.model import RunTrigger

    run = await skills.run(
        name, SkillRequest(ExecutionMode.SANDBOXED, RunTrigger.BOT, source, actor, args, input, on_end=on_end)
    )
    return SkillResult(run, await app.runs().text(run.id, MAX_RUN_TEXT))


async def _list_skills(skills: "Skills") -> "list[SkillInfo]":
    from tocsin.bot.contract import SkillInfo

    return [SkillInfo(skill.name, skill.description) for skill in skills.list() if skill.runnable]


async def _status_lines(app: App) -> list[str]:
    counts = await app.outbox.store.counts()
    waiting = sum(counts.get(status, 0) for status in counts if str(status) in {"queued", "retry_wait"})
    return [f"Queue: {waiting} waiting", "Cron jobs: none"]


def _tell_admin(app: App, bot: "Bot | None") -> Callable[[str], Awaitable[None]]:
    """Return what tells the operator something in the admin chat, where there is one; the log has it anyway."""

    async def tell_admin(text: str) -> None:
        from tocsin.bot.assembly import tell_through
        from tocsin.core.ids import new_id

        if bot is not None and bot.rules.notices:
            await tell_through(app.outbox, Caller("bot"))(bot.rules.notices, Reply(text), f"admin:{new_id()}")

    return tell_admin


async def is_redis_there(app: App) -> bool:
    """Whether a Redis was named in the settings, or listens at the usual address."""
    from tocsin.core.storage.redis_client import listens

    url = app.settings[REDIS_URL]
    return bool(url) and (REDIS_URL.name in app.settings.sources or await listens(url))
