"""Commands on hosts that workflows start, and runs that are executed again."""

import getpass
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.features.ssh.conftest import Machine

from tocsin.features.ssh.feature import FEATURE as SSH
from tocsin.features.workflows.feature import FEATURE as WORKFLOWS
from tocsin.features.workflows.requests import WorkflowRequest
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import NotRetriedError, RunControl, StartRequest
from tocsin.runs.model import Run, RunTrigger
from tocsin.testing.features import FeatureBench, open_feature

Describe = Callable[..., dict[str, object]]


@pytest.fixture
async def bench(tmp_path: Path, machine: Machine, described: Describe) -> AsyncIterator[FeatureBench]:
    """Workflows and SSH side by side, with one host in the group `web`."""
    port, host_key = machine.sshd()
    data_dir = tmp_path / "data"
    (data_dir / "workflows").mkdir(parents=True, mode=0o700)
    (data_dir / "config").touch()
    host = described("web1", port, groups=["web"], user="nobody-here")
    (data_dir / "ssh_hosts.yaml").write_text(json.dumps({"hosts": [host]}))
    public = Path(f"{host_key}.pub").read_text()
    (data_dir / "ssh_known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    env = {"PATH": os.environ["PATH"], "SSH_CONFIG": str(data_dir / "config"), "SSH_KEEP_S": "0"}
    async with open_feature(WORKFLOWS, data_dir, env, others=(SSH,)) as opened:
        yield opened


async def run_step(bench: FeatureBench, step: str) -> Run:
    folder = bench.app.settings.data_dir / "workflows"
    (folder / "flow.yaml").write_text(f"name: flow\nsteps:\n  - {{name: a, type: ssh, {step}}}\n")
    run: Run = await bench.service.run("flow", WorkflowRequest(RunTrigger.MANUAL, "cli"))
    return run


async def test_a_step_runs_on_its_host_as_its_user(bench: FeatureBench):
    run = await run_step(bench, f"hosts: web1, user: {getpass.getuser()}, command: whoami")
    assert run.ok, run.reason
    [child] = (await bench.app.runs().search("ssh", parts=True)).items
    assert (child.parent_run_id, child.hosts[0].stdout) == (run.id, f"{getpass.getuser()}\n")
    # Without it, the user that is written down counts, whom the server does not know.
    run = await run_step(bench, "groups: web, command: whoami")
    assert not run.ok
    run = await run_step(bench, "hosts: web1, user: '-oProxyCommand=id', command: whoami")
    assert "'-oProxyCommand=id'" in (run.reason or "")


async def test_a_workflow_with_a_host_or_group_that_is_not_there_is_refused(bench: FeatureBench):
    text = b"name: flow\nsteps:\n  - {name: a, type: ssh, hosts: [web1, wbe1], groups: [web, wbe], command: id}\n"
    read = (await bench.service.read_text("flow", text)).read
    assert [(problem.code, problem.suggestion) for problem in read.errors] == [
        ("unknown-host", "web1"),
        ("unknown-host", "web"),
    ]


async def test_a_command_is_run_again_on_the_same_hosts(bench: FeatureBench):
    app = bench.app
    control = RunControl(app.runs(), app.audit, app.clock, bench.features.abilities.run_starter.start)
    start = bench.features.abilities.run_starter.start
    params = {"command": "test $(id -un) = nobody", "groups": ["web"], "user": getpass.getuser()}
    request = StartRequest(source="cli", cause=RunTrigger.MANUAL, params=params)
    failed = await (await start("ssh", "", request)).wait()
    assert failed.hosts[0].exit_code == 1
    again = await (await control.retry(failed.id, Caller("cli"))).wait()
    assert (again.retry_of, again.attempt, again.trigger) == (failed.id, 2, RunTrigger.RETRY)
    assert (again.params, again.subject_name, again.hosts[0].exit_code) == (failed.params, failed.subject_name, 1)
    assert len(bench.audit("ssh.run")) == 2
    request = replace(request, params={**params, "env": {"TOKEN": "x"}})
    with_env = await (await start("ssh", "", request)).wait()
    with pytest.raises(NotRetriedError, match="variables"):
        await control.retry(with_env.id, Caller("cli"))
