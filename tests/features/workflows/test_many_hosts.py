"""Runs of hosts that share a Redis: what one host leaves waiting, another one continues, once."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.features.workflows.conftest import WorkflowBench, request
from tests.messaging.inbound.inbox_hall import Bell
from tests.waiting import eventually

from tocsin.assembly.full.services import run_engine, take_runs_out_of_database
from tocsin.core.audit.log import AuditLog
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.workflows.feature import FEATURE
from tocsin.runs.approvals import Decision
from tocsin.runs.model import TERMINAL, Run, RunStatus
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import open_feature

ROOT = Path(__file__).parents[3]
ASKS = """
notify_profile: team
notify_on: [always]
steps:
  - {name: first, command: "echo first >> WHERE/trace"}
  - {name: ask, type: wait, approval: true}
  - {name: last, command: "echo last by $STEP_ASK_BY >> WHERE/trace"}
"""

OpenHost = Callable[[str], AbstractAsyncContextManager[WorkflowBench]]


@pytest.fixture
def open_host(tmp_path: Path, private_redis: RedisServer) -> OpenHost:
    @asynccontextmanager
    async def opened(name: str) -> AsyncIterator[WorkflowBench]:
        env, clock = {"STORE": "redis", "REDIS_URL": private_redis.url}, FakeClock()
        folder = _folder(tmp_path, name)
        async with open_feature(FEATURE, folder, env, clock=clock, channels=(Bell,)) as bench:
            yield WorkflowBench(folder, bench, clock)

    return opened


def _folder(tmp_path: Path, name: str) -> Path:
    """Return the data directory of a host, which has the profile and, but for one host, no workflow."""
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / "profiles.yaml").write_text("team: [{channel: bell, target: '1'}]\n")
    return folder


@contextmanager
def process(folder: Path, redis: RedisServer, *names: str) -> Iterator[subprocess.Popen[bytes]]:
    env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(folder), "STORE": "redis", "REDIS_URL": redis.url}
    child = subprocess.Popen([sys.executable, "-m", "tests.features.workflows.host", *names], cwd=ROOT, env=env)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


async def _only_run(host: WorkflowBench, status: RunStatus) -> Run:
    async def found() -> Run | None:
        items = (await host.runs.search("workflow", status=(status,))).items
        return items[0] if items else None

    return await eventually(found)


async def _ended(host: WorkflowBench, run_id: str) -> Run:
    """Let a host work until a run has ended and is settled."""

    async def settled() -> Run | None:
        await host.runs.recover()
        await run_engine(host.bench.app).step()
        run = await host.runs.get(run_id)
        left = await host.runs.store.task_of(run_id)
        return run if run.status in TERMINAL and left is None else None

    return await eventually(settled)


def _entries(folder: Path) -> list[object]:
    log = AuditLog(folder / "audit.log")
    try:
        return [entry.metadata["run"] for entry in log.tail(100) if entry.action == "workflow.run"]
    finally:
        log.close()


async def test_an_approval_given_on_another_host_after_three_restarts_continues_its_run_once(
    open_host: OpenHost,
    tmp_path: Path,
    private_redis: RedisServer,
):
    first = _folder(tmp_path, "first")
    async with open_host("second") as second:
        (first / "workflows").mkdir(mode=0o700)
        (first / "workflows" / "flow.yaml").write_text("name: flow\n" + ASKS.replace("WHERE", str(tmp_path)))
        seen = set[str]()

        async def new_owner() -> str:
            owner = (await second.runs.store.records.get(run.id)).owner
            return "" if owner in seen else owner

        with process(first, private_redis, "flow") as child:
            run = await _only_run(second, RunStatus.WAITING)
            seen.add(await eventually(new_owner))
            child.kill()
            child.wait()
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
            with process(first, private_redis) as child:
                seen.add(await eventually(new_owner))
                child.send_signal(number)
                child.wait()
            assert (await second.runs.get(run.id)).status is RunStatus.WAITING
        assert (await second.runs.store.records.get(run.id)).owner == ""
        await second.runs.decide(Decision(run.id, "", approved=True, by="ana", at=1.0))
        ended = await _ended(second, run.id)
        assert (ended.status, ended.started_at) == ("succeeded", run.started_at)
        assert (tmp_path / "trace").read_text().splitlines() == ["first", "last by ana"]
        assert len((await second.bench.app.outbox.store.search(DeliveryFilter())).items) == 1
        assert [line.stream for line in (await second.runs.log(run.id)).lines][:1] == ["system"]
    assert _entries(first) + _entries(tmp_path / "second") == [run.id]


async def test_a_run_that_is_queued_behind_another_one_begins_on_another_host(open_host: OpenHost, tmp_path: Path):
    async with open_host("first") as first:
        first.write("overlap: queue\n" + ASKS.replace("WHERE", str(tmp_path)))
        running = await first.workflows.start("flow", request())
        await _only_run(first, RunStatus.WAITING)
        queued = await first.workflows.begin("flow", request())
    async with open_host("second") as second:
        await run_engine(second.bench.app).step()
        assert (await second.runs.get(queued.run.id)).status is RunStatus.QUEUED
        for run in (running.run, queued.run):
            await run_engine(second.bench.app).step()
            await eventually(lambda run=run: second.runs.waiting(run.id))
            await second.runs.decide(Decision(run.id, "", approved=True, by="ana", at=1.0))
            assert (await _ended(second, run.id)).status == "succeeded"
        assert len(second.bench.audit("workflow.run")) == 2


async def test_a_run_of_another_host_that_works_is_left_alone(open_host: OpenHost, tmp_path: Path):
    async with open_host("first") as first, open_host("second") as second:
        first.write(ASKS.replace("WHERE", str(tmp_path)))
        running = await first.workflows.start("flow", request())
        await _only_run(second, RunStatus.WAITING)
        await second.runs.recover()
        await run_engine(second.bench.app).step()
        assert (await second.runs.store.records.get(running.run.id)).owner == first.runs.owner
        lines = (await second.runs.log(running.run.id)).lines
        assert "is on the host" in lines[-1].text


async def test_a_run_that_waits_in_the_database_of_an_earlier_version_goes_on_in_redis(
    open_host: OpenHost, tmp_path: Path
):
    async with open_feature(FEATURE, _folder(tmp_path, "first"), channels=(Bell,)) as bench:
        flows = WorkflowBench(tmp_path / "first", bench, FakeClock())
        flows.write(ASKS.replace("WHERE", str(tmp_path)))
        running = await flows.workflows.start("flow", request())
        await _only_run(flows, RunStatus.WAITING)
    async with open_host("first") as first:
        for _ in range(2):  # a second process does the same
            await take_runs_out_of_database(first.bench.app)
        await first.runs.decide(Decision(running.run.id, "", approved=True, by="ana", at=1.0))
        assert (await _ended(first, running.run.id)).status == "succeeded"
        assert (tmp_path / "trace").read_text().splitlines() == ["first", "last by ana"]
