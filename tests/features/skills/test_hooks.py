"""Skills as other features run them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.skills.feature import FEATURE
from tocsin.runs.model import RunSpec, RunStatus, new_run
from tocsin.testing.features import open_feature


async def test_a_skill_for_the_assistant_is_run_in_the_folder_that_its_caller_names(tmp_path: Path):
    asked: list[AssistantRequest] = []

    async def list_assistants() -> Sequence[Mapping[str, Any]]:
        return [{"name": "reviewer", "description": "", "usable": True, "at_hand": False}]

    async def run_assistant(name: str, request: AssistantRequest) -> AssistantRun:
        asked.append(request)
        return AssistantRun(new_run(RunSpec("skill", name, name, request.cause), RunStatus.RUNNING, 0.0))

    abilities = {"assistants": SimpleNamespace(list=list_assistants, run=run_assistant)}
    async with open_feature(FEATURE, tmp_path, abilities=abilities) as bench:
        file, place = str(tmp_path / "a.py"), tmp_path
        run = await bench.features.abilities.skills.run(
            "reviewer", source="watchers", cause="watcher", args=[file], folder=place
        )
    assert run.subject_name == "reviewer"
    assert [(request.folder, request.files) for request in asked] == [(place, (file,))]
