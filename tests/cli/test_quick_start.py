"""What the tests start quickly is as good as a new interpreter."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.quick_start import QuickProcess, starter
from tests.waiting import PATIENCE_S


def quick(cli: Cli, *arguments: str, **env: str) -> QuickProcess:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return QuickProcess([cli.tocsin, *arguments], **pipes, cwd=cli.home, env={**cli.env, **env})


@pytest.mark.parametrize("arguments", [("--version",), ("nonsense",), ("config", "show", "--json")])
def test_a_fork_prints_and_returns_what_a_new_interpreter_does(cli: Cli, arguments: tuple[str, ...]):
    child = quick(cli, *arguments)
    out, err = child.communicate(timeout=PATIENCE_S)
    done = cli.process(*arguments)
    assert (child.returncode, out.decode(), err.decode()) == (done.code, done.out, done.err)


def test_a_fork_that_was_killed_is_told_apart_from_one_that_was_asked_to_end(cli: Cli, free_port: int):
    for number, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        with quick(cli, "gateway", GATEWAY_PORT=str(free_port), REDIS_URL="off", LOG_FORMAT="json") as child:
            wait_until_it_listens(child)
            assert child.poll() is None
            assert end(child, number)[0] == code
        with pytest.raises(ProcessLookupError):  # its number is free again
            os.kill(child.pid, 0)


def test_what_only_a_new_interpreter_reads_is_given_to_one(cli: Cli, tmp_path: Path):
    assert starter(cli.env) is QuickProcess or "COVERAGE_" in "".join(cli.env)
    assert starter({**cli.env, "PYTHONWARNINGS": "error"}) is subprocess.Popen
    assert starter({**cli.env, "PYTHONPATH": str(tmp_path)}) is starter(cli.env)
    (tmp_path / "sitecustomize.py").touch()
    assert starter({**cli.env, "PYTHONPATH": str(tmp_path)}) is subprocess.Popen
