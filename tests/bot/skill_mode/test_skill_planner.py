"""Skill mode: requirements are found, mapped to skills, confirmed, run, and reported."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.bot.bench import RecordingApi, conversation

from tocsin.bot.contract import Prepared, SkillResult
from tocsin.bot.executor import TOO_MANY, ChatExecutor, TaskContext
from tocsin.bot.gate import Gate
from tocsin.bot.persistence import BotPersistence
from tocsin.bot.schema import SCHEMAS
from tocsin.bot.shared_work import ChatWork, SharedWork
from tocsin.bot.skill_mode.plans import KEPT_S, Plans
from tocsin.bot.skill_mode.skill_matching import match_steps
from tocsin.bot.skill_mode.skill_planner import GONE, NOTHING_FITS, SkillPlanner
from tocsin.bot.storage.sqlite_table import sqlite_tables
from tocsin.bot.talk.preview import Previews
from tocsin.bot.talk.sequencer import MessageSequencer
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ConfigError, RemoteError, TocsinError
from tocsin.core.http.transport import HttpResponse
from tocsin.core.storage.database import Database
from tocsin.features.ability_records import SkillInfo
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.providers.contract import Completion, ProviderError, Question
from tocsin.runs.model import Run, RunStatus, RunTrigger
from tocsin.testing import FakeClock

SKILLS = [
    SkillInfo("backup", "Make a backup of one service and say how large it is."),
    SkillInfo("disk-report", "Show how full the disks are."),
    SkillInfo("greet", "Say hello."),
]
TEXT = "make a backup of web, then show how full the disks are; sing me a song"


class Model:
    """A chat model that finds what it is told to find."""

    name, model = "scripted", "model-1"

    def __init__(self, found: Sequence[tuple[str, str]] = (), error: ProviderError | None = None) -> None:
        self.found, self.error = found, error
        self.questions: list[Question] = []

    async def ask(self, question: Question, *_: object) -> Completion:
        raise AssertionError("skill mode does not converse")

    async def extract(self, question: Question, shape: type[Any]) -> Any:
        self.questions.append(question)
        if self.error:
            raise self.error
        return shape.model_validate(
            {"requirements": [{"requirement": text, "skill": skill} for text, skill in self.found]}
        )

    async def aclose(self) -> None: ...


class Skills:
    def __init__(self) -> None:
        self.runs: list[tuple[str, str, str]] = []
        self.broken: set[str] = set()
        self.cancels: tuple[str, Callable[[], object]] = ("", lambda: None)

    async def list(self, *, every: bool = False) -> list[SkillInfo]:
        return SKILLS

    async def run(
        self,
        name: str,
        *,
        args: tuple[str, ...],
        input: str,
        actor: str,
    ) -> SkillResult:
        self.runs.append((name, input, actor))
        cancelled_at, cancel = self.cancels
        if name == cancelled_at:
            cancel()
            await asyncio.sleep(0)
        if name == "greet":
            raise TocsinError("the dependency figlet is missing", hint="install it")
        status = RunStatus.FAILED if name in self.broken else RunStatus.SUCCEEDED
        run = Run(
            id="r1",
            kind="skill",
            subject_id=name,
            subject_name=name,
            trigger=RunTrigger.BOT,
            status=status,
            queued_at=0.0,
            reason="exit code 1",
        )
        return SkillResult(run, f"{name} output")


class Api(RecordingApi):
    async def request(self, *args: Any, **options: Any) -> HttpResponse:
        await super().request(*args, **options)
        raise RemoteError("the chat is gone")  # progress that cannot be shown must change nothing


class Room:
    """The pipeline on a real database."""

    def __init__(self, directory: Path, model: Model | None = None) -> None:
        self.clock, self.skills, self.api, self.model = FakeClock(), Skills(), Api(), model
        self.database = Database(directory / "tocsin.db", SCHEMAS)
        self.audit = AuditTrail(AuditLog(directory / "audit.log"))
        channel = conversation(self.api, self.clock)
        tables = sqlite_tables(self.database, self.clock)
        self.executor = ChatExecutor(
            Gate(2, 5, 10),
            Previews(None, BotPersistence(tables), self.clock),
            MessageSequencer(self.clock),
            tell=self.tell,
            target_of=lambda m: m.chat_id,
            shared=SharedWork(ChatWork(tables), self.clock),
        )

        self.misconfigured: ConfigError | None = None

        async def provider() -> Model | None:
            if self.misconfigured:
                raise self.misconfigured
            return self.model

        self.planner = SkillPlanner(
            Plans(tables),
            self.audit,
            channel,
            self.executor,
            provider=provider,
            skills=self.skills,
            run_skill=self.skills.run,
        )

    async def tell(self, target: str, reply: Reply, key: str) -> None: ...

    async def propose(self, text: str = TEXT) -> HandlerResult:
        received = MessageContext("m1", message(MessageKind.MESSAGE, text=text))

        async def task(work: TaskContext) -> HandlerResult:
            return await self.planner.propose(work, Prepared(text))

        return await self.executor.do(received, task)

    async def press(self, data: str, *, id: str = "p1", chat: str = "7", attempt: int = 1) -> HandlerResult:
        pressed = message(MessageKind.CALLBACK, chat=chat, data=data)
        verdict = await self.planner.on_button(MessageContext(id, pressed, attempt=attempt), data)
        assert verdict is not None
        return verdict

    def audited(self) -> list[str]:
        self.audit.log.close()
        lines = self.audit.log.path.read_text().splitlines()
        return [json.loads(line)["action"] for line in lines]


def message(kind: MessageKind, *, text: str = "", chat: str = "7", data: str | None = None) -> InboundMessage:
    press = {"callback_id": "cb", "callback_data": data} if kind is MessageKind.CALLBACK else {}
    return InboundMessage("botchat", kind, "1", ("k",), chat, text=text, reply_to_id="55", **press)


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    yield room
    await room.database.aclose()


def buttons(verdict: HandlerResult) -> list[str]:
    return [data for row in verdict.replies[0].extra["buttons"] for _, data in row]


async def test_a_message_becomes_a_plan_with_a_skill_for_each_requirement_and_two_buttons(room: Room):
    verdict = await room.propose()
    assert verdict.replies[0].text.splitlines()[2:] == [
        "1. make a backup of web → backup",
        "2. show how full the disks are → disk-report",
        "3. sing me a song → no matching skill",
    ]
    confirm, cancel = buttons(verdict)
    assert confirm.startswith("confirm:")
    assert cancel.startswith("cancel:")
    assert all(len(data.encode()) <= 64 for data in (confirm, cancel))
    assert room.skills.runs == []


async def test_the_chat_model_finds_requirements_where_there_is_one_and_invents_no_skill(room: Room):
    room.model = Model([("back the web up", "backup"), ("order pizza", "pizza")])
    verdict = await room.propose()
    assert "1. back the web up → backup" in verdict.replies[0].text
    assert "2. order pizza → no matching skill" in verdict.replies[0].text
    assert "- disk-report: Show how full" in room.model.questions[0].instructions


async def test_a_chat_model_that_fails_leaves_the_words_to_go_by_and_says_so(room: Room):
    room.model = Model(error=ProviderError("no answer"))
    verdict = await room.propose()
    assert "→ backup" in verdict.replies[0].text
    assert "matched keywords.)" in verdict.replies[0].text


async def test_a_chat_model_whose_settings_are_wrong_leaves_the_words_to_go_by(room: Room):
    room.misconfigured = ConfigError("CHAT_PROVIDER=openai needs OPENAI_API_KEY")
    assert "matched keywords.)" in (await room.propose()).replies[0].text


async def test_a_message_that_no_skill_can_do_runs_nothing_and_says_so(room: Room):
    verdict = await room.propose("sing me a song")
    assert verdict.replies[0].text == NOTHING_FITS


async def test_the_confirmed_plan_is_run_and_reported_per_requirement_in_the_place_of_its_buttons(room: Room):
    confirm, _ = buttons(await room.propose())
    verdict = await room.press(confirm)
    assert room.skills.runs == [
        ("backup", "make a backup of web", "chat:7"),
        ("disk-report", "show how full the disks are", "chat:7"),
    ]
    text = verdict.replies[0].text
    assert "✓ 1. make a backup of web\nbackup output" in text
    assert "– 3. sing me a song\n" in text
    assert verdict.replies[0].extra == {"edit_message_id": "55"}
    assert [params["message_id"] for _, params in room.api.calls] == [55, 55]
    assert room.audited() == ["intake.confirmed", "intake.task_completed", "intake.task_completed"]


async def test_a_skill_that_fails_does_not_hold_up_the_next_one(room: Room):
    room.skills.broken = {"backup"}
    confirm, _ = buttons(await room.propose())
    verdict = await room.press(confirm)
    assert verdict.ending is HandlingStatus.FAILED
    assert "✗ 1. make a backup of web" in verdict.replies[0].text
    assert "✓ 2. show how full" in verdict.replies[0].text


async def test_a_skill_that_cannot_start_is_reported_with_its_reason(room: Room):
    room.model = Model([("say hello", "greet")])
    confirm, _ = buttons(await room.propose())
    assert "the dependency figlet is missing: install it" in (await room.press(confirm)).replies[0].text


async def test_a_cancelled_plan_runs_nothing(room: Room):
    _, cancel = buttons(await room.propose())
    assert (await room.press(cancel)).replies[0].text
    assert room.skills.runs == []
    assert room.audited() == ["intake.cancelled"]


async def test_two_presses_of_the_button_run_the_plan_once(room: Room):
    confirm, _ = buttons(await room.propose())
    await room.press(confirm, id="p1")
    assert (await room.press(confirm, id="p2")).replies[0].text == GONE
    assert len(room.skills.runs) == 2


async def test_after_a_crash_the_plan_goes_on_behind_what_was_done(room: Room):
    confirm, _ = buttons(await room.propose())
    await room.press(confirm, id="p1")
    verdict = await room.press(confirm, id="p1", attempt=2)
    assert len(room.skills.runs) == 2
    assert "✓ 2. show how full the disks are\ndisk-report output" in verdict.replies[0].text


async def test_a_press_that_is_turned_away_leaves_the_plan_to_be_confirmed_later(room: Room):
    confirm, _ = buttons(await room.propose())
    room.executor.gate.overflow = room.executor.gate.per_chat = 0
    verdict = await room.press(confirm, id="p1")
    assert (verdict.replies[0].text, verdict.replies[0].extra) == (TOO_MANY, {})
    room.executor.gate.per_chat = 2
    assert "✓ 1. make a backup of web" in (await room.press(confirm, id="p2")).replies[0].text
    assert room.audited().count("intake.confirmed") == 1


async def test_a_plan_that_is_cancelled_on_its_way_tells_what_was_done_in_the_place_of_its_progress(room: Room):
    confirm, _ = buttons(await room.propose())
    room.skills.cancels = ("disk-report", lambda: room.executor.tasks.cancel("7"))
    verdict = await room.press(confirm)
    (reply,) = verdict.replies
    assert reply.extra == {"edit_message_id": "55"}
    assert "✓ 1. make a backup of web\nbackup output" in reply.text
    assert reply.text.endswith("(cancelled)")


async def test_buttons_of_a_plan_that_is_gone_are_removed(room: Room):
    confirm, _ = buttons(await room.propose())
    room.clock.advance(KEPT_S + 1)
    await room.press(confirm)
    assert room.api.calls == [("editMessageReplyMarkup", {"chat_id": 7, "message_id": 55})]


async def test_the_plan_of_another_chat_cannot_be_run(room: Room):
    confirm, _ = buttons(await room.propose())
    assert (await room.press(confirm, chat="8")).replies[0].text == GONE
    assert room.skills.runs == []
    assert room.audited() == ["intake.press_denied"]


async def test_a_plan_of_yesterday_is_not_run(room: Room):
    confirm, _ = buttons(await room.propose())
    room.clock.advance(KEPT_S + 1)
    assert (await room.press(confirm)).replies[0].text == GONE


async def test_buttons_that_belong_to_something_else_are_left_alone(room: Room):
    received = MessageContext("x", message(MessageKind.CALLBACK, data="confirm:approve:7"))
    assert await room.planner.on_button(received, "confirm:approve:7") is None


def test_keywords_of_skills_count_like_their_names():
    skills = [
        SkillInfo("auditor", "Looks at lock files and manifests.", keywords=("dependencies", "lock file")),
        SkillInfo("scanner", "Finds keys and tokens.", keywords=("secrets", "leaked", "credentials")),
        *SKILLS,
    ]
    text = "Look for leaked credentials; then check each dependency"
    assert [step.skill for step in match_steps(text, skills)] == ["scanner", "auditor"]


@pytest.mark.parametrize("text", ["- backup web\n- greet everybody", "1. backup web\n2) greet everybody"])
def test_a_list_is_one_requirement_for_each_line(text: str):
    assert [(s.requirement, s.skill) for s in match_steps(text, SKILLS)] == [
        ("backup web", "backup"),
        ("greet everybody", "greet"),
    ]
