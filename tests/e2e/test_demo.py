"""`tocsin demo` as a newcomer meets it: start it, copy what it prints, watch the messages arrive."""

import base64
import json
import os
import re
import select
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.http_calls import http_call
from tests.quick_start import TOCSIN
from tests.waiting import PATIENCE_S, until

from tocsin.channels.registry import discover

READY = "Messages received by the stand-ins:"
ALICE, BOB, GROUP = 1001, 1002, -3001
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
FURTHER = {channel.spec.kind for channel in discover().classes if channel.standin}  # they bring their stand-ins
CHANNELS = {"slack", "telegram", "discord", "email"} | FURTHER
# What somebody may have in the environment of a shell: the demo must not use it.
REAL = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-real-example",
    "TEAMCHAT_API_URL": "http://127.0.0.1:9/api",
    "OPENAI_API_KEY": "sk-example-of-a-real-key",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
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

    def read_until(self, pattern: str) -> str:
        """Wait until the output has `pattern`; return the match."""
        assert self.child.stdout
        while not (found := re.search(pattern, self.printed, re.MULTILINE)):
            readable = select.select([self.child.stdout], [], [], PATIENCE_S)[0]
            assert readable, f"{pattern!r} is not in: {self.printed}"
            chunk = os.read(self.child.stdout.fileno(), 65536)
            assert chunk, f"the demo ended: {self.printed}"
            self.printed += chunk.decode()
        return found[0]

    def address(self, label: str) -> str:
        return self.read_until(rf"(?<=^  {label})\s+http://\S+").strip()

    @property
    def page(self) -> str:
        return self.address("talk to the bot")

    def received(self) -> list[dict[str, Any]]:
        """Return what the page shows."""
        return list(http_call(f"{self.page}/received.json").json()["received"])

    def post(self, path: str, **body: Any) -> None:
        """Do what a click on the page does."""
        assert http_call(f"{self.page}{path}", body).status == 201

    def send_file(self, chat: int, data: bytes, **query: str) -> None:
        """Send the bot a file as the page does."""
        self.post("/_standin/file", chat_id=chat, data=base64.b64encode(data).decode(), **query)

    def conversation(self, chat: int) -> list[dict[str, Any]]:
        return [message for message in self.shown(chat) if "note" not in message]

    def shown(self, chat: int) -> list[dict[str, Any]]:
        """Return messages, and the notes between them."""
        return list(http_call(f"{self.page}/conversation.json?chat={chat}").json()["messages"])

    def say(self, chat: int, text: str) -> Callable[[str], dict[str, Any]]:
        """Write to the bot; the returned function waits for a younger message of the bot that has a text."""
        self.post("/_standin/say", chat_id=chat, text=text)
        said = [m["id"] for m in self.conversation(chat) if m["own"]][-1]  # the answer may be there already
        return lambda answer: self.wait_for(chat, answer, after=said)

    def press(self, chat: int, message: Mapping[str, Any], button: str) -> None:
        (data,) = [key["data"] for row in message["buttons"] for key in row if key["text"] == button]
        self.post("/_standin/press", chat_id=chat, message_id=message["id"], data=data)

    def wait_for(self, chat: int, text: str, *, after: int = 0) -> dict[str, Any]:
        def shown() -> list[dict[str, Any]]:
            return [m for m in self.conversation(chat) if m["id"] > after and not m["own"]]

        def look() -> list[dict[str, Any]]:
            return [m for m in shown() if text in m["text"]]

        return until(look, lambda: f"{text!r} is not in: {shown()}", every_s=0.05)[0]

    def end(self, number: int = signal.SIGINT) -> int:
        self.child.send_signal(number)
        out, err = self.child.communicate(timeout=PATIENCE_S)
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
        demo.read_until(READY)
        block = demo.printed.partition("Commands to try in another terminal:\n")[2].partition(READY)[0]
        demo.commands = [line.strip() for line in block.splitlines() if line.strip()]
        yield demo
        demo.end()


def test_the_demo_tells_where_things_are_and_what_to_try(demo: Demo):
    assert demo.address("gateway").startswith("http://127.0.0.1:")
    assert demo.page.startswith("http://127.0.0.1:")
    has_sshd = any(" ssh run " in command for command in demo.commands)
    assert len(demo.commands) == 27 + has_sshd + len(FURTHER)


def test_the_link_of_the_dashboard_signs_in_once(demo: Demo):
    link = demo.address("dashboard")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link, timeout=PATIENCE_S) as page:
        assert b"<html" in page.read()
    base = link.partition("/login")[0]
    with opener.open(f"{base}/api/status", timeout=PATIENCE_S) as answer:
        status = json.load(answer)
    assert status["subsystems"]["cron"]["counts"]["jobs"] == 3
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.build_opener().open(f"{base}/api/status", timeout=PATIENCE_S)
    refused.value.close()


@pytest.fixture(scope="module")
def copied(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> list[subprocess.CompletedProcess[str]]:
    """Run every printed command, in another directory, and in a shell whose credentials would win over any .env."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    how: dict[str, Any] = {"capture_output": True, "text": True, "cwd": elsewhere}
    env = environment(elsewhere, **REAL)
    return [subprocess.run(["sh", "-c", command], check=False, env=env, **how) for command in demo.commands]


def test_every_printed_command_works_when_it_is_copied(demo: Demo, copied: list[subprocess.CompletedProcess[str]]):
    for command, done in zip(demo.commands, copied, strict=True):
        assert done.returncode == 0, f"{command}: {done.stderr}"
        if command.startswith("curl"):
            assert json.loads(done.stdout)
        else:
            assert not [line for line in done.stderr.splitlines() if line.startswith("tocsin")], done.stderr


@pytest.mark.usefixtures("copied")
def test_messages_arrive_on_all_channels_of_the_network(demo: Demo):
    hello = [item for item in demo.received() if item["text"].splitlines()[-1:] == ["hello"]]  # Web Push has a title
    assert len({item["channel"] for item in hello}) == len(CHANNELS)
    for channel in CHANNELS:
        demo.read_until(rf"^received  {channel} +\S+ +'.*hello'$")


@pytest.mark.usefixtures("copied")
def test_what_another_tool_reports_at_the_door_becomes_a_message(demo: Demo):
    assert "/in/" in demo.address("door of other tools")
    demo.read_until(r"^received  slack +\S+ +'.*Backup failed")


def test_the_gateway_sends_by_http_to_the_stand_ins_whatever_the_environment_says(demo: Demo):
    message = {"channel": "teamchat", "target": "#ops", "message": "by HTTP"}
    assert http_call(f"{demo.address('gateway')}/send", message).json()["ok"] is True
    assert "by HTTP" in [item["text"] for item in demo.received()]


def test_the_page_answers(demo: Demo):
    answer = http_call(demo.page).accepted()
    assert answer.headers["Content-Type"].startswith("text/html")
    assert b"<html" in answer.body


def test_what_is_written_to_the_bot_on_the_page_is_answered_by_a_trigger(demo: Demo):
    demo.say(ALICE, "weather Oslo")("It is always sunny in Oslo.")


def test_what_fires_no_trigger_is_answered_by_the_stand_in_chat_model(demo: Demo):
    answer = demo.say(ALICE, "Tell me a joke")("You said:\n\nTell me a joke")
    assert [entity["type"] for entity in answer["entities"]] == ["bold", "blockquote"]


def test_please_greet_carol_greets_carol(demo: Demo):
    demo.say(ALICE, "Please greet Carol")("Hello, Carol!")


def test_a_trigger_may_ask_the_chat_model(demo: Demo):
    demo.say(ALICE, "explain exit code 137")("Answer in one sentence: explain exit code 137")


def test_the_buttons_under_an_answer_work(demo: Demo):
    keyboard = demo.say(ALICE, "/skills")("Installed skills:")
    demo.press(ALICE, keyboard, "greet")
    result = demo.wait_for(ALICE, "Hello, world!", after=keyboard["id"] - 1)
    assert (result["id"], result["buttons"]) == (keyboard["id"], [])


def test_skill_mode_finds_the_sample_skill_and_runs_it_when_it_is_confirmed(demo: Demo):
    keyboard = demo.say(ALICE, "/mode")("This chat is in chat mode.")
    demo.press(ALICE, keyboard, "skill")
    demo.wait_for(ALICE, "Skill mode")
    plan = demo.say(ALICE, "Could you greet Dora, please?")("Shall I run this?")
    demo.press(ALICE, plan, "Run")
    demo.wait_for(ALICE, "Hello, Dora!", after=keyboard["id"])
    keyboard = demo.say(ALICE, "/mode")("This chat is in skill mode.")
    demo.press(ALICE, keyboard, "chat")
    demo.wait_for(ALICE, "Chat mode", after=keyboard["id"] - 1)


def test_in_the_group_the_bot_answers_what_mentions_it(demo: Demo):
    demo.say(GROUP, "@tocsin_standin_bot hello")("You said:\n\nAlice (@alice):\nhello")


def test_what_a_rule_answers_in_the_group_is_told_on_page_and_terminal_with_the_rule(demo: Demo):
    demo.say(GROUP, "weather Lima")("It is always sunny in Lima.")
    shown = demo.shown(GROUP)
    notes = [n for n, message in enumerate(shown) if "weather" in message.get("note", "")]
    assert shown[notes[-1]]["note"] == r"rule 2 of triggers.yaml: ^/?weather (\w+)"
    assert shown[notes[-1] + 1]["text"] == "It is always sunny in Lima."
    demo.read_until(r"^answers   telegram +-3001 +rule 2 of triggers\.yaml: ")


def test_a_document_that_is_sent_on_the_page_is_read_by_the_bot(demo: Demo):
    demo.send_file(ALICE, b"The bell weighs 12 tons.", name="bell.txt", caption="How heavy is it?")
    answer = demo.wait_for(ALICE, "The bell weighs 12 tons.")
    assert "How heavy is it?" in answer["text"]
    sent = [message for message in demo.conversation(ALICE) if message.get("file")][-1]
    assert (sent["file"], sent["text"]) == ("bell.txt", "How heavy is it?")


def test_a_photo_that_is_sent_in_the_group_with_a_mention_reaches_the_model(demo: Demo):
    demo.send_file(GROUP, PIXEL, name="pixel.png", caption="@tocsin_standin_bot what is this?")
    demo.wait_for(GROUP, "Images: 1")


def test_a_voice_message_that_is_sent_on_the_page_is_answered(demo: Demo):
    demo.send_file(ALICE, b"OggS no sound", name="voice.ogg")
    demo.wait_for(ALICE, "voice")


def test_a_stranger_asks_for_access_and_is_let_in_by_a_button(demo: Demo):
    demo.say(BOB, "/start")("access request pending")
    demo.press(ALICE, demo.wait_for(ALICE, "Access requested by chat 1002"), "Approve")
    demo.wait_for(BOB, "Access granted")
    demo.say(BOB, "Hello")("You said:\n\nHello")


@pytest.mark.parametrize(
    ("channel", "text"), [("teamchat", "weather Rome"), ("teamchat", "/weather Bern"), ("guildchat", "/weather Paris")]
)
def test_on_the_other_channels_a_person_gets_the_answer_of_a_trigger_too(demo: Demo, channel: str, text: str):
    demo.post("/_standin/call", channel=channel, text=text)
    name = {"teamchat": "slack", "guildchat": "discord"}[channel]
    demo.read_until(rf"^received  {name} +\S+ +'It is always sunny in {text.split()[1]}\.'$")


def test_without_redis_server_the_bot_answers_and_sigterm_removes_the_data_directory(tmp_path: Path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "tocsin").symlink_to(TOCSIN)
    with running_demo(tmp_path, env={"PATH": str(programs)}) as demo:
        demo.read_until(r"bus +in this process \(redis-server is not installed\)")
        demo.read_until(READY)
        assert re.search(r"^  tocsin --env-file \S+ channels$", demo.printed, re.MULTILINE)
        (directory,) = tmp_path.glob("tocsin-demo-*")
        assert (directory / ".env").stat().st_mode & 0o777 == 0o600
        demo.say(ALICE, "Hello")("You said:\n\nHello")
        assert demo.end(signal.SIGTERM) == 0
    assert list(tmp_path.glob("tocsin-*")) == []


def test_as_json_there_is_one_document_with_everything_a_script_needs_and_sighup_ends_it(tmp_path: Path):
    with running_demo(tmp_path, "--json") as demo:
        demo.read_until(r"^\}$")
        document = json.loads(demo.printed)
        assert list(document) == ["gateway", "dashboard", "sign_in", "door", "page", "env_file", "commands"]
        done = subprocess.run(
            [TOCSIN, "--env-file", document["env_file"], "send", "teamchat", "#ops", "hello"],
            env=environment(tmp_path),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0
        demo.child.send_signal(signal.SIGHUP)
        out, _ = demo.child.communicate(timeout=PATIENCE_S)
        assert (demo.child.returncode, out) == (0, b"")
    assert list(tmp_path.glob("tocsin-*")) == []


def test_without_the_chat_packages_the_demo_names_them_and_everything_else_works(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pydantic_ai'] = None\n")
    with running_demo(tmp_path, env={"PYTHONPATH": str(tmp_path)}) as demo:
        demo.read_until(READY)
        assert 'chat model          off; pip install "tocsin[chat]"' in demo.printed
        assert " ask " not in demo.printed
        demo.say(ALICE, "weather Oslo")("It is always sunny in Oslo.")
        demo.say(ALICE, "Hello")("The chat model cannot be used")
        assert demo.end() == 0
