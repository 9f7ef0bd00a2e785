"""Skills as other features run them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tocsin.features.abilities import AssistantRequest, AssistantRun
from tocsin.features.skills.feature import FEATURE
from tocsin.features.skills.hooks import run_skill_of
from tocsin.runs.model import RunSpec, RunStatus, new_run
from tocsin.testing.features import open_feature


async def test_a_skill_for_the_assistant_is_run_in_the_folder_that_its_caller_names(tmp_path: Path):
    asked: list[AssistantRequest] = []

    async def list_assistants() -> Sequence[Mapping[str, Any]]:
        return [{"name": "reviewer", "description": "", "usable": True, "at_hand": False}]

    async def run_assistant(name: str, request: AssistantRequest) -> AssistantRun:
        asked.append(request)
        return AssistantRun(new_run(RunSpec("skill", name, name, request.cause), RunStatus.RUNNING, 0.0))

    abilities = {"list_assistants": list_assistants, "run_assistant": run_assistant}
    async with open_feature(FEATURE, tmp_path, abilities=abilities) as bench:
        run_skill = run_skill_of(bench.service)
        file, place = str(tmp_path / "a.py"), tmp_path
        run = await run_skill("reviewer", source="watchers", cause="watcher", args=[file], folder=place)
    assert run.subject_name == "reviewer"
    assert [(request.folder, request.files) for request in asked] == [(place, (file,))]
