"""The command in an empty home, in this process or as a child, with or without stand-ins to send to."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pytest
from tests import command_line, ports, waiting
from tests.audit_entries import check_audit_entries
from tests.command_line import Done
from tests.databases import copied_tables
from tests.quick_start import TOCSIN, starter
from tests.town_thread import reset, town_on_a_thread
from tests.waiting import PATIENCE_S

from tocsin_standins import StandinCluster


class Cli:
    """Runs the command with a clean environment: what the tests' own machine has set does not count."""

    tocsin = TOCSIN

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self.home = home
        self.data_dir = home / "data"
        # coverage finds its configuration in the environment of a child.
        self.env = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        self.env |= {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TOCSIN_DATA_DIR": str(self.data_dir),
            **env,
        }

    def __call__(self, *arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
        """Run `tocsin` with `arguments` in this process; a traceback anywhere fails the test."""
        env = {**self.env, **(env or {})}
        return _sound(command_line.call(arguments, env=env, cwd=self.home, program=TOCSIN, stdin=stdin))

    def into(self, output: TextIO | None, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        """Do the same with another standard output, such as a full disk; `None` is a closed one."""
        env = {**self.env, **(env or {})}
        return _sound(command_line.call(arguments, env=env, cwd=self.home, program=TOCSIN, output=output))

    def process(self, *arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
        """Run the installed `tocsin` to its end: half a second for what only a process shows."""
        return self._run(subprocess.Popen, arguments, stdin, {**self.env, **(env or {})})

    def forked(self, *arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
        """Do the same in a fork, which is cheaper where a command imports much, and no proof of what it imports."""
        env = {**self.env, **(env or {})}
        return self._run(starter(env), arguments, stdin, env)

    def _run(
        self,
        start: type[subprocess.Popen[bytes]],
        arguments: tuple[str | bytes, ...],
        stdin: bytes,
        env: dict[str, str],
    ) -> Done:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with start([TOCSIN, *arguments], **pipes, cwd=self.home, env=env) as child:
            try:
                out, err = child.communicate(stdin, PATIENCE_S)
            finally:
                child.kill()
        return _sound(Done(child.returncode, out.decode(), err.decode()))

    @contextmanager
    def running(
        self, *arguments: str, env: Mapping[str, str] | None = None, umask: int = -1
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run `tocsin` during the block; whatever is left of it is killed."""
        env = {**self.env, **(env or {})}
        child = starter(env)(
            [TOCSIN, *arguments],
            bufsize=0,  # `communicate` does not see what a reader of lines has buffered
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.home,
            env=env,
            umask=umask,
        )
        with child:
            try:
                yield child
            finally:
                child.kill()

    def shell(self, line: str, *, env: Mapping[str, str] | None = None) -> Done:
        """Run a line of bash in which `tocsin` is the command."""
        path = f"{TOCSIN.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.home,
            env={**self.env, "PATH": path, **(env or {})},
            timeout=PATIENCE_S,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def audit_log(self) -> list[dict[str, Any]]:
        """Return the entries of the audit log, the oldest first."""
        path = self.data_dir / "audit.log"
        entries = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        check_audit_entries(entries)
        return entries

    def write_profiles(self, text: str) -> None:
        """Write `profiles.yaml`."""
        self.data_dir.mkdir(exist_ok=True)
        (self.data_dir / "profiles.yaml").write_text(text)


def _sound(done: Done) -> Done:
    assert "Traceback" not in done.out + done.err, done.err
    return done


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command without any setting."""
    return Cli(tmp_path, {})


@pytest.fixture(scope="session")
def running_town() -> Iterator[StandinCluster]:
    with town_on_a_thread() as town:
        yield town


@pytest.fixture
def town(running_town: StandinCluster) -> Iterator[StandinCluster]:
    """The stand-ins, with an empty memory."""
    reset(running_town)
    yield running_town
    reset(running_town)


@pytest.fixture
def wired(tmp_path: Path, town: StandinCluster) -> Cli:
    """The command, configured for the stand-ins by its environment."""
    return Cli(tmp_path, town.environment())


@pytest.fixture
def free_port() -> int:
    return ports.free_port()


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    """Wait for something another process does, and return it once it is true."""
    return waiting.until


def wait_until_it_listens(child: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Read the log, JSON lines, until the service listens; return what was read."""
    assert child.stderr
    lines = []
    while not lines or lines[-1]["event"] != "listening":
        line = child.stderr.readline()
        assert line, f"it ended with {child.wait()}: {lines}"
        lines.append(json.loads(line))
    return lines


def end(child: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> tuple[int, str, str]:
    """Send the signal and return exit code and what is left of both outputs."""
    child.send_signal(number)
    out, err = child.communicate(timeout=PATIENCE_S)
    assert b"Traceback" not in out + err, err.decode()
    return child.returncode, out.decode(), err.decode()


__all__ = ["TOCSIN", "Cli", "Done", "copied_tables", "end"]
