"""Skills as other features run them."""

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.features.assistant_skills.broken_front_matter import GOOD, file_of

from tocsin.core.errors import TocsinError
from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.assistant_skills.feature import FEATURE as ASSISTANT_SKILLS
from tocsin.features.assistant_skills.model import AssistantDisabledError, NoModelError
from tocsin.features.skills.feature import FEATURE
from tocsin.features.skills.model import ExecutionMode, InvalidSkillError, UnknownSkillError
from tocsin.features.skills.service import SkillRequest
from tocsin.features.skills.work import begin
from tocsin.runs.control import StartRequest
from tocsin.runs.model import RunSpec, RunStatus, new_run
from tocsin.testing.features import FeatureBench, open_feature


async def test_a_skill_for_the_assistant_is_run_in_the_folder_that_its_caller_names(tmp_path: Path):
    asked: list[AssistantRequest] = []

    async def names() -> Collection[str]:
        return {"reviewer"}

    async def run_assistant(name: str, request: AssistantRequest) -> AssistantRun:
        asked.append(request)
        return AssistantRun(new_run(RunSpec("skill", name, name, request.cause), RunStatus.RUNNING, 0.0))

    abilities = {"assistants": SimpleNamespace(names=names, run=run_assistant)}
    async with open_feature(FEATURE, tmp_path, abilities=abilities) as bench:
        file, place = str(tmp_path / "a.py"), tmp_path
        run = await bench.features.abilities.skills.run(
            "reviewer", source="watchers", cause="watcher", args=[file], folder=place
        )
    assert run.subject_name == "reviewer"
    assert [(request.folder, request.files) for request in asked] == [(place, (file,))]


async def _errors(bench: FeatureBench, name: str) -> list[type[TocsinError]]:
    """Return how a skill is refused by each door: other features, runs that are started by kind, and the API."""
    abilities, call = bench.features.abilities, SkillRequest(ExecutionMode.SANDBOXED, "manual", "cli")
    doors: list[Any] = [
        abilities.skills.run(name, source="cron", cause="schedule"),
        abilities.run_starter.start("skill", name, StartRequest(source="workflow", cause="manual")),
        begin(bench.service, name, call),
    ]
    found = []
    for door in doors:
        with pytest.raises(TocsinError) as raised:
            await door
        found.append(type(raised.value))
    return found


@pytest.mark.parametrize(
    ("manifest", "enabled", "error"),
    [
        ("name: it\n", "true", InvalidSkillError),
        ("", "true", NoModelError),
        ("", "false", AssistantDisabledError),
        (None, "true", UnknownSkillError),
    ],
    ids=["broken program with instructions", "no model", "disabled", "unknown"],
)
async def test_every_door_takes_a_name_for_a_skill_of_the_same_kind(
    tmp_path: Path, manifest: str | None, enabled: str, error: type[TocsinError]
):
    folder = tmp_path / "skills" / "it"
    if manifest is not None:
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(file_of(GOOD | {"name": "name: it", "enabled": f"enabled: {enabled}"}))
    if manifest:
        (folder / "skill.yaml").write_text(manifest)
    async with open_feature(FEATURE, tmp_path, others=[ASSISTANT_SKILLS]) as bench:
        assert await _errors(bench, "it") == [error] * 3
