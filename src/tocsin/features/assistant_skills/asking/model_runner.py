"""Ask the model of a skill, within the limits of a run and of an hour."""

import asyncio
import sqlite3
from collections.abc import Sequence

from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.core.time.clock import Clock
from tocsin.core.watching.ignored_files import IgnoreRules
from tocsin.features.ability_records import AssistantRequest
from tocsin.features.assistant_skills.asking.model_run import answer_of, instructions_of, question_of, report_shape
from tocsin.features.assistant_skills.folder.confined import ConfinedFolder
from tocsin.features.assistant_skills.folder.overlay import FolderOverlay
from tocsin.features.assistant_skills.folder.place import MAX_FILES, SkillPlace, files_for
from tocsin.features.assistant_skills.folder.tools import FolderTools
from tocsin.features.assistant_skills.model import AssistantSkill, AssistantUnusableError, SkillOutput
from tocsin.features.assistant_skills.settings import SKILLS_CALLS_PER_HOUR
from tocsin.features.context import FeatureContext
from tocsin.features.skill_records import SkillFinding
from tocsin.providers.contract import ProviderError, Question, Turn, WorkLimits

LIMITS = WorkLimits()
HOUR_S = 3600.0
_EVENTS = {"watcher": "These files changed"}


class CallBudget:
    """How many questions all processes have asked the model within the last hour."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @reads
    def used(self, connection: sqlite3.Connection) -> int:
        """Return how many questions were asked within the last hour."""
        since = self._clock.now() - HOUR_S
        found = connection.execute("SELECT SUM(questions) FROM assistant_calls WHERE at > ?", [since]).fetchone()
        return int(found[0] or 0)

    @writes
    def note(self, connection: sqlite3.Connection, run_id: str, questions: int) -> None:
        """Record the questions of a run, and forget those that do not count any more."""
        now = self._clock.now()
        connection.execute("DELETE FROM assistant_calls WHERE at <= ?", [now - HOUR_S])
        connection.execute("INSERT OR REPLACE INTO assistant_calls VALUES (?, ?, ?)", (run_id, now, questions))


class ModelRunner:
    """Has models look at files."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._budget = CallBudget(context.database, context.clock)

    async def look(
        self,
        skill: AssistantSkill,
        place: SkillPlace,
        request: AssistantRequest,
        run_id: str,
        known: Sequence[SkillFinding] = (),
        diff: str = "",
    ) -> SkillOutput:
        """Return the findings and changes of the model; raises TocsinError if it does not finish."""
        questions = await self._allowed(request)
        with ConfinedFolder(place.root) as folder:
            files = [] if diff else await asyncio.to_thread(lambda: list(files_for(skill, folder, place.paths)))
            overlay = FolderOverlay(folder)
            tools = FolderTools(overlay, IgnoreRules(place.root), self._context.redact)
            event = _EVENTS.get(request.cause, "You were asked to look at files")
            redact = self._context.redact
            text = redact(question_of(files, event, known, request.input, diff))
            question = Question((Turn("user", text),), instructions_of(skill), max_tokens=16_000)
            definition = skill.definition
            names, model = (definition.tools, definition.model) if definition else ((), "")
            limits = WorkLimits(questions, LIMITS.tool_calls, LIMITS.tokens, LIMITS.whole_s)
            try:
                report = await self._context.abilities.models.use_tools(
                    question, tools.named(names), report_shape(), limits, model=model
                )
            except ProviderError:
                await self._budget.note(run_id, len(tools.notes) + 1)
                raise
            await self._budget.note(run_id, report.questions)
            answer = answer_of(report.result, skill, redact)
            notes = (
                *tools.notes,
                f"model: {report.questions} questions, {report.input_tokens + report.output_tokens} tokens",
            )
            left_out = (f"only the first {MAX_FILES} files were listed",) if len(files) == MAX_FILES else ()
            return SkillOutput(
                answer.findings,
                len(files) or 1,
                notes + left_out,
                tuple(overlay.changes()),
                redact(overlay.diff()),
                answer.invoked,
            )

    async def _allowed(self, request: AssistantRequest) -> int:
        """Return how many questions a run may ask; runs that a person started count, but are not refused."""
        if request.cause != "watcher":
            return LIMITS.questions
        most = self._context.settings[SKILLS_CALLS_PER_HOUR]
        left = most - await self._budget.used()
        if left <= 0:
            raise AssistantUnusableError(
                f"the limit of {most} questions per hour to the model is reached",
                hint=f"raise {SKILLS_CALLS_PER_HOUR.name}, or exclude files by patterns",
            )
        return min(left, LIMITS.questions)
