"""What features are handed by the program itself: shared parts, and abilities that are no feature's."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from tocsin.assembly.operator import ask_chat, find_chats, notify_operator, tell_operator_once
from tocsin.assembly.storage import is_redis_there
from tocsin.core.errors import TocsinError
from tocsin.features.context import Abilities, AbilityMissingError, FeatureContext
from tocsin.runs.model import Run, RunTrigger

if TYPE_CHECKING:
    from tocsin.assembly.program import App
    from tocsin.bot.talk.sessions import Sessions
    from tocsin.channels.inbound import InboundMessage
    from tocsin.features.abilities import AssistantRequest, AssistantRun, BotWindowList, RecalledEntry, SkillInfo
    from tocsin.providers.contract import ChatProvider, ModelTool, Question, WorkLimits, WorkReport
    from tocsin.runs.control import RunControl, StartRequest
    from tocsin.runs.engine.active_run import ActiveRun

T = TypeVar("T")

MAX_SHOWN = 200
ELSEWHERE = (
    "Conversations of the bot are kept in the memory of the process that runs it, and are not shown by others. With "
    "REDIS_URL they are kept in Redis, and every process shows them."
)


def context_of(app: "App") -> FeatureContext:
    """Return what every feature is handed; its settings and what other features provide are added for each."""
    return FeatureContext(
        settings=app.settings,
        data_dir=app.settings.data_dir,
        clock=app.clock,
        audit=app.audit,
        database=app.database,
        messenger=app.messenger,
        output=app.output(),
        runs=app.runs,
        redact=app.redact,
        environment=app.settings.inheritable,
        abilities=_own_abilities(app),
    )


def run_control_of(app: "App") -> "RunControl":
    """Return what people may do to runs."""
    from tocsin.runs.control import RunControl

    return RunControl(app.runs(), app.audit, app.clock, app.features.abilities.start_run)


def _own_abilities(app: "App") -> Abilities:
    async def ask(prompt: str, message: str = "", /, **options: Any) -> str:
        return await app.models().ask(prompt, message, **options)

    async def use_tools(
        question: "Question", tools: "Sequence[ModelTool]", shape: type[T], limits: "WorkLimits", *, model: str = ""
    ) -> "WorkReport[T]":
        return await app.models().use_tools(question, tools, shape, limits, model=model)

    def open_model(model: str = "", /) -> "AbstractAsyncContextManager[ChatProvider]":
        return app.models().lent(model)

    async def bot_windows(chat_id: str = "", /) -> "BotWindowList":
        return await app.histories().chats(app, chat_id)

    def indicate(message: "InboundMessage") -> AbstractAsyncContextManager[None]:
        from tocsin.messaging.inbound.indicator import indicating

        return indicating(app.registry.receiver(message.channel), app.clock, message)

    def cause_of(message: "InboundMessage") -> str:
        return RunTrigger.BOT if app.registry.spec(message.channel).conversation else RunTrigger.WEBHOOK

    return Abilities(
        ask=ask,
        open_model=open_model,
        use_tools=use_tools,
        list_skills=_no_skills,
        run_skill=_no_skill_runs,
        list_assistants=_no_assistants,
        assistant_names=_no_assistant_names,
        run_assistant=_no_assistant_runs,
        start_assistant=_no_assistant_starts,
        describe_assistant=_no_description,
        notify=notify_operator(app),
        unread_notices=_no_notices,
        tell_operator=tell_operator_once(app),
        find_chats=find_chats(app),
        ask_chat=ask_chat(app),
        reveal_secret=_no_vault,
        reveal_secrets=_no_secrets,
        secret_names=_no_secret_names,
        start_run=_no_runs,
        recall=_nothing_recalled,
        remember=_no_memory,
        follow_chat=_nothing_kept,
        list_subjects=_no_subjects,
        list_schedules=_no_schedules,
        bot_windows=bot_windows,
        indicate=indicate,
        cause_of=cause_of,
    )


class BotHistories:
    """Shows what this process can see of the bot's conversations."""

    def __init__(self) -> None:
        self._sessions: Sessions | None = None

    def use(self, sessions: "Sessions") -> None:
        """Show these: the bot runs in this process."""
        self._sessions = sessions

    async def chats(self, app: "App", chat_id: str = "") -> "BotWindowList":
        """Return the windows of all chats that have one, or only of the chat that is named."""
        from tocsin.features.abilities import BotWindow, BotWindowList

        if not any(state.spec.conversation and state.configured for state in app.registry.states()):
            return BotWindowList()
        chosen = app.registry.bot_channel()
        try:
            sessions = self._sessions or await self._shared(app)
            if sessions is None:
                return BotWindowList(notice=ELSEWHERE)
            chats = []
            for key in [chat_id] if chat_id else (await sessions.chats())[:MAX_SHOWN]:
                turns = [(entry.role, entry.content) for entry in await sessions.get(key)]
                if turns:
                    chats.append(BotWindow(key, chosen.spec.kind, turns))
        except TocsinError as error:
            return BotWindowList(notice=f"Conversations of the bot cannot be shown: {error.sentence()}")
        return BotWindowList(chats)

    async def _shared(self, app: "App") -> "Sessions | None":
        """Return what all processes share, where there is a Redis."""
        from tocsin.assembly.bot import build_sessions, conversation_of, use_redis
        from tocsin.bot.settings import BotSettings

        if not await is_redis_there(app.settings):
            return None
        settings = BotSettings.of(app.settings, conversation_of(app.registry).variables)
        sessions = build_sessions(settings, app.clock)
        use_redis(sessions, settings, app.redis)
        return sessions


async def _no_notices() -> int:
    return 0


async def _no_skills(*, every: bool = False) -> "Sequence[SkillInfo]":
    return ()


async def _no_skill_runs(name: str, **_: Any) -> Run:
    raise AbilityMissingError(f"the skill {name} cannot be run: this installation has no skills")


async def _no_assistants() -> Sequence[Mapping[str, Any]]:
    return ()


async def _no_assistant_names() -> Collection[str]:
    return ()


async def _no_assistant_runs(name: str, _: "AssistantRequest") -> "AssistantRun":
    raise AbilityMissingError(f"the skill {name} cannot be run: this installation has no assistant skills")


async def _no_assistant_starts(name: str, request: "AssistantRequest", *, dry_run: bool = False) -> Run:
    raise AbilityMissingError(f"the skill {name} cannot be run: this installation has no assistant skills")


async def _no_description(name: str, file: str = "", /) -> Mapping[str, Any]:
    return {"body": None, "checks": []}


async def _no_vault(name: str, /, *, reader: str) -> str:
    raise AbilityMissingError(f"{reader} cannot read the secret {name}: this installation has no vault")


async def _no_secrets(names: Collection[str] | None = None, /, *, reader: str) -> Mapping[str, str]:
    return {name: await _no_vault(name, reader=reader) for name in names or ()}


async def _nothing_recalled(chat_id: str, question: str, /) -> "Sequence[RecalledEntry]":
    return ()


async def _nothing_kept(old_id: str, new_id: str, /) -> None:
    """Nothing is kept for chats."""


async def _no_memory(chat_id: str, text: str, /) -> str:
    raise AbilityMissingError("nothing can be stored: this installation has no memory")


async def _no_schedules(_: str, /) -> Mapping[str, Sequence[str]]:
    return {}


async def _no_runs(kind: str, subject: str, _: "StartRequest", /) -> "ActiveRun":
    raise AbilityMissingError(f"{subject} cannot be started: no feature starts runs of the kind {kind}")


async def _no_secret_names() -> Sequence[str] | None:
    return None


async def _no_subjects(kind: str, /) -> Sequence[str] | None:
    raise AbilityMissingError(f"no feature starts runs of the kind {kind}")
