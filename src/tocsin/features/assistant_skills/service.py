"""The service of assistant skills."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.core.config.core_variables import CHAT_PROVIDER
from tocsin.core.lazy import Lazy
from tocsin.features.assistant_skills.activation import activation, acts_on, path_below, questions, unwatched
from tocsin.features.assistant_skills.model import WITHOUT_MODEL, AssistantSkill
from tocsin.features.assistant_skills.settings import SKILLS_WATCH
from tocsin.features.context import FeatureContext
from tocsin.features.skill_records import ActivationCheck, SkillRecord

# Lazy: listing skills does not need their execution.
if TYPE_CHECKING:
    from tocsin.features.assistant_skills.results import SkillResults
    from tocsin.features.assistant_skills.running.assistant_runner import AssistantRunner
    from tocsin.features.assistant_skills.store import AssistantFolders
    from tocsin.features.assistant_skills.watch.versions import ActedVersions

MONTH_S = 30 * 86400


class AssistantSkills:
    """The assistant skills of the package and of the data directory."""

    def __init__(
        self, folders: "AssistantFolders", results: "SkillResults", versions: "ActedVersions", context: FeatureContext
    ) -> None:
        self.results = results
        self.versions = versions
        self.context = context
        self.runner = Lazy(self._make_runner, lambda runner: runner.aclose())
        self._folders = folders

    def _make_runner(self) -> "AssistantRunner":
        from tocsin.features.assistant_skills.running.assistant_runner import AssistantRunner

        return AssistantRunner(self)

    def list(self) -> tuple[AssistantSkill, ...]:
        """Return all skills in the order in which they act."""
        return self._folders.all()

    def get(self, name: str) -> AssistantSkill:
        """Return one skill, valid or not; raises UnknownAssistantError."""
        return self._folders.get(name)

    def names(self) -> frozenset[str]:
        """Return the names of all skills, valid or not."""
        return self._folders.names()

    async def records(self) -> Sequence[SkillRecord]:
        """Return the records of all skills by name."""
        runs, records = self.context.runs(), []
        for skill in sorted(self.list(), key=lambda skill: skill.name):
            last = await runs.search("skill", skill.name, limit=1)
            count = await runs.count_recent("skill", skill.name, MONTH_S)
            usable = self.can_run(skill)
            at_hand = usable and bool(self.context.settings[SKILLS_WATCH])
            last_run = last.items[0] if last.items else None
            records.append(skill.record(usable=usable, at_hand=at_hand, last_run=last_run, runs_30d=count))
        return records

    def why(self, name: str, path: str) -> tuple[ActivationCheck, ...]:
        """Return the four questions about a skill and a file; raises UnknownAssistantError."""
        return activation(self.get(name), path)

    def unwatched(self, file: Path) -> str:
        """Return why no service checks a file; empty if one does."""
        return unwatched(self.context.settings[SKILLS_WATCH], file)

    def describe(self, name: str, file: str = "") -> tuple[str, Sequence[ActivationCheck]]:
        """Return the instructions of a skill, and the questions; without a file, two of the four have no answer."""
        skill = self.get(name)
        path = path_below(self.context.settings[SKILLS_WATCH], file) if file else ""
        return skill.body, questions(skill, path)

    def which(self, path: str) -> tuple[AssistantSkill, ...]:
        """Return the skills that act on a file, in their order."""
        return tuple(skill for skill in self.list() if acts_on(skill, path))

    @property
    def has_model(self) -> bool:
        """Whether there is a chat model."""
        return bool(self.context.settings[CHAT_PROVIDER])

    def can_run(self, skill: AssistantSkill) -> bool:
        """Whether a skill has no mistake, is switched on, and has the model that it may need."""
        usable = skill.definition is not None and skill.definition.enabled and not skill.errors
        return usable and (skill.name in WITHOUT_MODEL or self.has_model)

    def without_model(self) -> str:
        """Return a sentence that names the skills that work without a model, and the settings for one."""
        from tocsin.providers.chat import HOW_TO_CONFIGURE, NOT_CONFIGURED

        return f"{NOT_CONFIGURED}: only {', '.join(WITHOUT_MODEL)} can run; {HOW_TO_CONFIGURE}"

    async def aclose(self) -> None:
        """Start nothing that runs invoke any more."""
        await self.runner.aclose()
