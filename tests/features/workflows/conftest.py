"""A data directory with workflows, opened as the program opens them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.audit_entries import check_audit_log

from tocsin.features.cron.feature import FEATURE as CRON
from tocsin.features.skills.feature import FEATURE as SKILLS
from tocsin.features.workflows.feature import FEATURE
from tocsin.features.workflows.requests import WorkflowRequest
from tocsin.features.workflows.service import Workflows
from tocsin.runs.model import Line, Run, RunTrigger, StepRun
from tocsin.runs.service import Runs
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import FeatureBench, open_feature


def request(**changes: Any) -> WorkflowRequest:
    return WorkflowRequest(RunTrigger.MANUAL, source="cli", **changes)


@dataclass
class WorkflowBench:
    """Open workflows, and what their runs leave behind."""

    folder: Path
    bench: FeatureBench
    clock: FakeClock

    def __post_init__(self) -> None:
        self.lines: list[Line] = []

    @property
    def workflows(self) -> Workflows:
        service: Workflows = self.bench.service
        return service

    @property
    def runs(self) -> Runs:
        return self.bench.app.runs()

    def write(self, text: str, name: str = "flow") -> None:
        """Write a workflow; its name is put in front."""
        path = self.folder / "workflows" / f"{name}.yaml"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(f"name: {name}\n{dedent(text)}")

    async def run(self, text: str = "", name: str = "flow", **changes: Any) -> Run:
        """Run a workflow to its end; `text` is written first."""
        if text:
            self.write(text, name)
        return await self.workflows.run(name, request(**changes), watch=self.lines.append)

    async def steps(self, text: str, **changes: Any) -> dict[str, StepRun]:
        """Run a workflow and return its steps by name."""
        return {step.name: step for step in (await self.run(text, **changes)).steps}

    def printed(self, stream: str) -> list[str]:
        """Return what was printed to a stream of the log, such as the name of a step."""
        return [line.text for line in self.lines if line.stream == stream]


Opening = Callable[..., AbstractAsyncContextManager[WorkflowBench]]


@pytest.fixture
def opening(tmp_path: Path) -> Opening:
    """What opens workflows with settings and abilities that a test chooses."""

    @asynccontextmanager
    async def opened(
        env: dict[str, str] | None = None, clock: FakeClock | None = None, **abilities: Any
    ) -> AsyncIterator[WorkflowBench]:
        clock = clock or FakeClock()
        async with open_feature(
            FEATURE, tmp_path, env, clock=clock, abilities=abilities, others=(SKILLS, CRON)
        ) as bench:
            yield WorkflowBench(tmp_path, bench, clock)
            check_audit_log(bench.app.audit.log)

    return opened


@pytest.fixture
async def flows(opening: Opening) -> AsyncIterator[WorkflowBench]:
    async with opening() as bench:
        yield bench


@pytest.fixture
def bench(flows: WorkflowBench) -> FeatureBench:
    return flows.bench
