"""A workflow whose process is killed is recorded as interrupted, and goes on from there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.features.workflows.conftest import Opening, request
from tests.waiting import until

from tocsin.runs.control import Retry

ROOT = Path(__file__).parents[3]
FLOW = """
defaults: {working_dir: WHERE}
steps:
  - {name: dump, command: "echo dump >> trace; echo 42", outputs: {size: "stdout | last_line"}}
  - {name: copy, command: "echo copy $STEP_DUMP_SIZE >> trace; [ -e go ] || { touch begun; sleep 600; }"}
  - {name: tell, command: "echo tell $STEP_DUMP_SIZE >> trace"}
"""


async def test_a_retry_of_a_killed_workflow_goes_on_from_the_step_at_work_with_earlier_outputs(
    opening: Opening, tmp_path: Path
):
    async with opening() as flows:
        flows.write(FLOW.replace("WHERE", str(tmp_path)))
    env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": "off"}
    child = subprocess.Popen([sys.executable, "-m", "tests.features.workflows.victim", "flow"], cwd=ROOT, env=env)
    try:
        until((tmp_path / "begun").exists, "the second step to begin")
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    (tmp_path / "go").touch()
    async with opening() as flows:
        await flows.runs.recover()
        await flows.runs.resume()
        [left] = (await flows.runs.search("workflow")).items
        await flows.runs.wait(left.id)
        [killed] = (await flows.runs.search("workflow", parts=True)).items
        assert killed.status == "interrupted"
        assert {step.name: str(step.status) for step in killed.steps} == {
            "dump": "succeeded", "copy": "interrupted", "tell": "skipped",
        }  # fmt: skip
        again = await flows.workflows.run("flow", request(retry=Retry(killed, "copy"), from_step="copy"))
        assert (again.status, again.retry_of) == ("succeeded", killed.id)
    assert (tmp_path / "trace").read_text().splitlines() == ["dump", "copy 42", "copy 42", "tell 42"]
