"""`tocsin demo` as a newcomer meets it: start it, copy what it prints, watch the messages arrive (decision 1)."""

import json
import os
import re
import select
import signal
import subprocess
import sysconfig
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TOCSIN = Path(sysconfig.get_path("scripts")) / "tocsin"
CHANNELS = {"teamchat", "botchat", "guildchat", "email"}
# What somebody may have in the environment of a shell: the demo must not use it.
REAL = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-real-example",
    "TEAMCHAT_API_URL": "http://127.0.0.1:9/api",
    "SMTP_HOST": "127.0.0.9",
    "SMTP_PASS": "example of a real password",
    "GATEWAY_TOKEN": "example-of-a-real-token",
    "TOCSIN_DATA_DIR": "/nonexistent/real",
}


@dataclass
class Demo:
    """A running demo and what it has printed so far."""

    child: subprocess.Popen[bytes]
    printed: str = ""
    commands: list[str] = field(default_factory=list)

    def read_until(self, pattern: str, timeout_s: float = 20) -> str:
        """Wait until the output has `pattern`; return the match."""
        assert self.child.stdout
        deadline = time.monotonic() + timeout_s
        while not (found := re.search(pattern, self.printed, re.MULTILINE)):
            assert time.monotonic() < deadline, f"{pattern!r} is not in: {self.printed}"
            if select.select([self.child.stdout], [], [], 0.1)[0]:
                chunk = os.read(self.child.stdout.fileno(), 65536)
                assert chunk, f"the demo ended: {self.printed}"
                self.printed += chunk.decode()
        return found[0]

    def address(self, label: str) -> str:
        return self.read_until(rf"(?<=^  {label})\s+http://\S+").strip()

    def received(self) -> list[dict[str, Any]]:
        """Return what the page shows."""
        with urllib.request.urlopen(f"{self.address('what was received')}/received.json", timeout=10) as answer:
            return list(json.load(answer)["received"])

    def end(self, number: int = signal.SIGINT) -> int:
        self.child.send_signal(number)
        out, err = self.child.communicate(timeout=20)
        assert b"Traceback" not in out + err, err.decode()
        return self.child.returncode


def environment(home: Path, **more: str) -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {**mine, "PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", **more}


@contextmanager
def running_demo(home: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Demo]:
    child = subprocess.Popen(
        [TOCSIN, "demo", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home,
        env=environment(home, **(env or {})),
    )
    with child:
        try:
            yield Demo(child)
        finally:
            child.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def demo(home: Path) -> Iterator[Demo]:
    """One demo for all tests that only look, in a shell with real credentials."""
    with running_demo(home, env=REAL) as demo:
        demo.read_until("Messages appear below")
        block = demo.printed.partition("Try, in another terminal:\n")[2].partition("Messages appear")[0]
        demo.commands = [line.strip() for line in block.splitlines() if line.strip()]
        yield demo
        demo.end()


def test_the_demo_tells_where_things_are_and_what_to_try(demo: Demo):
    assert demo.address("gateway").startswith("http://127.0.0.1:")
    assert demo.address("what was received").startswith("http://127.0.0.1:")
    assert len(demo.commands) == 11


def test_every_printed_command_works_when_it_is_copied(demo: Demo, tmp_path: Path):
    for command in demo.commands:
        # In another directory, and in the shell whose real credentials would win over any .env.
        done = subprocess.run(
            ["sh", "-c", command],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(tmp_path, **REAL),
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        if command.startswith("curl"):
            assert json.loads(done.stdout)["ok"] is True
        else:
            assert done.stderr == ""


def test_messages_arrive_on_all_four_network_channels(demo: Demo, tmp_path: Path):
    for command in demo.commands:
        if " send " in command:
            subprocess.run(["sh", "-c", command], capture_output=True, env=environment(tmp_path, **REAL), check=True)
    hello = {item["channel"] for item in demo.received() if item["text"] == "hello"}
    assert hello == CHANNELS
    for channel in CHANNELS:
        demo.read_until(rf"^received  {channel} +\S+ +'.*hello'$")


def test_the_gateway_sends_by_http_to_the_stand_ins_whatever_the_environment_says(demo: Demo):
    request = urllib.request.Request(
        f"{demo.address('gateway')}/send",
        json.dumps({"channel": "teamchat", "target": "#ops", "message": "by HTTP"}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert json.load(answer)["ok"] is True
    assert "by HTTP" in [item["text"] for item in demo.received()]


def test_the_page_answers(demo: Demo):
    with urllib.request.urlopen(demo.address("what was received"), timeout=10) as answer:
        page = answer.read().decode()
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "<html" in page


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_demo_with_0_and_removes_its_data_directory(tmp_path: Path, number: signal.Signals):
    with running_demo(tmp_path) as demo:
        demo.read_until("Messages appear below")
        (directory,) = tmp_path.glob("tocsin-demo-*")
        assert (directory / ".env").stat().st_mode & 0o777 == 0o600
        assert demo.end(number) == 0
    assert list(tmp_path.glob("tocsin-*")) == []


def test_without_settings_in_the_shell_the_commands_are_short(tmp_path: Path):
    path = f"{TOCSIN.parent}{os.pathsep}{os.environ['PATH']}"
    with running_demo(tmp_path, env={"PATH": path}) as demo:
        demo.read_until("Messages appear below")
        assert re.search(r"^  tocsin --env-file \S+ channels$", demo.printed, re.MULTILINE)
        assert demo.end() == 0


def test_as_json_there_is_one_document_with_everything_a_script_needs(tmp_path: Path):
    with running_demo(tmp_path, "--json") as demo:
        demo.read_until(r"^\}$")
        document = json.loads(demo.printed)
        assert list(document) == ["gateway", "page", "env_file", "commands"]
        done = subprocess.run(
            [TOCSIN, "--env-file", document["env_file"], "send", "teamchat", "#ops", "hello"],
            env=environment(tmp_path),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0
        demo.child.send_signal(signal.SIGINT)
        out, _ = demo.child.communicate(timeout=20)
        assert (demo.child.returncode, out) == (0, b"")
