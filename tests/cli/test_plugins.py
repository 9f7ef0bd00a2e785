"""A channel of another distribution is discovered, listed and used; a broken one is told and skipped.

Nothing is installed: a directory with the module and its `dist-info` is all that an installer leaves.
"""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions
from tools.docs import abilities_table, channels_page

from tocsin.channels.registry import discover

EXAMPLE = Path(__file__).parents[2] / "examples" / "webhookchat"
TOKEN = "tk_made0up0made0up0made0up0mad"


class Ntfy(BaseHTTPRequestHandler):
    """As much of the server as the example talks to."""

    published: list[dict[str, Any]]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.answer(401, {"code": 40101, "http": 401, "error": "unauthorized"})
            return
        self.published.append(message)
        self.answer(200, {"id": f"m{len(self.published)}", "event": "message", **message})

    def do_GET(self) -> None:
        self.answer(200, {"username": "phil"})

    def answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def ntfy() -> Iterator[ThreadingHTTPServer]:
    Ntfy.published = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Ntfy) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def install(site: Path, name: str, module: str, adapter: str = "Adapter") -> None:
    """Leave behind what an installer does: the module and its entry point."""
    package = name.replace("-", "_")
    site.mkdir(exist_ok=True)
    (site / f"{package}.py").write_text(module)
    info = site / f"{package}-1.0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text(f"[tocsin.channels]\n{name} = {package}:{adapter}\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site"
    path.mkdir()
    return path


@pytest.fixture
def plugged(cli: Cli, site: Path, ntfy: ThreadingHTTPServer) -> Cli:
    """The command with the example in place and its server to send to."""
    install(site, "tocsin-webhookchat", (EXAMPLE / "tocsin_webhookchat.py").read_text(), "WebhookchatAdapter")
    url = f"http://127.0.0.1:{ntfy.server_port}"
    return Cli(cli.home, {"PYTHONPATH": str(site), "WEBHOOKCHAT_URL": url, "WEBHOOKCHAT_TOKEN": TOKEN})


def with_site(cli: Cli, site: Path) -> Cli:
    return Cli(cli.home, {"PYTHONPATH": str(site)})


# --- the example


def test_the_example_is_one_file_of_40_to_130_lines():
    assert {path.name for path in EXAMPLE.glob("*.py")} == {"tocsin_webhookchat.py", "test_tocsin_webhookchat.py"}
    assert 40 <= len((EXAMPLE / "tocsin_webhookchat.py").read_text().splitlines()) <= 130


def test_the_examples_metadata_names_the_entry_point():
    assert '[project.entry-points."tocsin.channels"]\nwebhookchat = "tocsin_webhookchat:WebhookchatAdapter"' in (
        (EXAMPLE / "pyproject.toml").read_text()
    )


def test_a_channel_of_another_distribution_is_listed_with_its_settings(plugged: Cli):
    (listed,) = [c for c in plugged("channels", "--json").json() if c["channel"] == "webhookchat"]
    assert (listed["configured"], listed["aliases"], listed["max_length"]) == (True, ["hookchat"], 4096)
    shown = {setting["name"]: setting for setting in plugged("config", "show", "--json").json()}
    assert shown["WEBHOOKCHAT_TOKEN"]["value"] == "[secret]"
    plugged("init")
    assert "#WEBHOOKCHAT_TOKEN=" in (plugged.data_dir / ".env").read_text()


def test_a_message_goes_out_over_it(plugged: Cli):
    done = plugged.process("send", "hookchat", "ops", "Disk 91 % full", "--json")
    assert done.json() == {"ok": True, "channel": "webhookchat", "target": "ops", "message": "id=m1", "error": ""}
    assert done.err == ""
    assert Ntfy.published == [{"topic": "ops", "message": "Disk 91 % full"}]


def test_a_preview_of_it_a_check_of_it_and_its_page_come_from_its_class(plugged: Cli, monkeypatch: pytest.MonkeyPatch):
    planned = plugged.process("send", "hookchat", "ops", "Disk 91 % full", "--title", "web1", "--dry-run", "--json")
    assert mentions(planned.out, "web1", "Disk 91 % full")
    assert Ntfy.published == []
    checked = plugged.process("doctor", "--json").json()["findings"]
    assert [
        (each["state"], each["detail"]) for each in checked if each["subject"] in {"webhookchat", "Webhookchat"}
    ] == [("ok", "connected as phil")]
    monkeypatch.syspath_prepend(plugged.env["PYTHONPATH"])
    [spec] = [adapter.spec for adapter in discover().classes if adapter.spec.kind == "webhookchat"]
    assert "[`webhookchat`](channels/webhookchat.md)" in channels_page([spec]).replace("../", "")
    assert "| Webhookchat |" in abilities_table([spec])


def test_its_credentials_are_tested_and_it_may_stand_in_a_profile(plugged: Cli):
    assert plugged("test", "webhookchat").out == "Webhookchat: connected as phil\n"
    plugged.write_profiles("oncall: [{channel: hookchat, target: ops}]\n")
    assert plugged("notify", "oncall", "hello", "--json").json()["sent"] == 1


def test_its_refusals_carry_cause_and_remedy(plugged: Cli):
    done = plugged("send", "hookchat", "ops", "hello", env={"WEBHOOKCHAT_TOKEN": "tk_wrong"})
    assert done.code == 1
    assert done.err.splitlines()[0] == (
        "tocsin: 40101 unauthorized: invalid token; copy it again into WEBHOOKCHAT_TOKEN"
    )


def test_without_its_token_it_is_unknown_and_names_it(plugged: Cli):
    done = plugged("send", "hookchat", "ops", "hello", env={"WEBHOOKCHAT_TOKEN": ""})
    assert done.code == 1
    assert mentions(done.err, "hookchat", "WEBHOOKCHAT_TOKEN")


# --- broken plug-ins

CHANNEL = """
from tocsin.channels.contract import ChannelSpec, OutboundAdapter
from tocsin.core.config.variables import Variable

class Adapter(OutboundAdapter):
    spec = ChannelSpec(kind="bell", label="Bell", product="Bell", target_format="a tower"{more})

    async def deliver(self, part):
        {deliver}

    async def probe(self):
        return "ringer"
"""


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("raise RuntimeError('made-up\\nreason')\n", "RuntimeError: made-up reason"),
        ("import package_that_is_not_there\n", "ModuleNotFoundError: No module named 'package_that_is_not_there'"),
        ("def (\n", "SyntaxError"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("Adapter = 5\n", "TypeError: not a subclass of"),
        ("class Adapter: spec = None\n", "TypeError: not a subclass of"),
        (
            "from tocsin.channels.contract import OutboundAdapter as Adapter\n",
            "TypeError: its `spec` is not a ChannelSpec",
        ),
        ("", "AttributeError"),
    ],
)
def test_a_broken_plug_in_is_told_and_skipped(cli: Cli, site: Path, module: str, reason: str):
    install(site, "broken", module)
    done = with_site(cli, site)("channels", "--json")
    assert done.code == 0
    assert {channel["channel"] for channel in done.json()} == {each.spec.kind for each in discover().classes}
    assert "broken (broken:Adapter)" in done.err
    assert reason in done.err
    assert len(done.err.splitlines()) == 1


def test_a_broken_plug_in_is_told_by_every_command_and_by_the_doctor(cli: Cli, site: Path):
    install(site, "broken", "raise RuntimeError('made-up')\n")
    broken = with_site(cli, site)
    for command in (("profiles",), ("send", "broken", "x", "hello"), ("config", "show"), ("doctor", "--offline")):
        assert "broken (broken:Adapter)" in broken(*command).err
    findings = broken("doctor", "--offline", "--json").json()["findings"]
    assert [finding["state"] for finding in findings if finding["subject"] == "plug-in"] == ["error"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (', aliases=("slack",)', "the name slack is already used by the channel teamchat"),
        (', aliases=("email",)', "the name email is already used by the channel email"),
        (
            ', options=(Variable("TEAMCHAT_BOT_TOKEN", str, "", "Mine."),)',
            "the setting TEAMCHAT_BOT_TOKEN is already used by another channel or by Tocsin",
        ),
        (
            ', options=(Variable("GATEWAY_PORT", str, "", "Mine."),)',
            "the setting GATEWAY_PORT is already used by another channel or by Tocsin",
        ),
    ],
)
def test_a_plug_in_cannot_take_over_what_belongs_to_another(cli: Cli, site: Path, more: str, reason: str):
    install(site, "greedy", CHANNEL.replace("{more}", more).replace("{deliver}", 'return "bong"'))
    done = with_site(cli, site)("channels", "--json")
    assert [channel["channel"] for channel in done.json() if channel["channel"] == "bell"] == []
    assert done.err == f"tocsin: channel plug-in greedy (greedy:Adapter) is ignored: {reason}\n"


def test_a_plug_in_named_like_a_built_in_channel_is_ignored_with_a_sentence(cli: Cli, site: Path):
    module = CHANNEL.replace("{more}", "").replace('"bell"', '"teamchat"').replace("{deliver}", 'return "bong"')
    install(site, "double", module)
    done = with_site(cli, site)("channels", "--json")
    (teamchat,) = [channel for channel in done.json() if channel["channel"] == "teamchat"]
    assert teamchat["missing"] == ["TEAMCHAT_BOT_TOKEN"]
    assert mentions(done.err, "double (double:Adapter)", "teamchat")


def test_two_plug_ins_of_one_name_are_told_and_the_first_one_counts(cli: Cli, site: Path):
    for name, note in (("first", "one"), ("second", "two")):
        install(site, name, CHANNEL.replace("{more}", "").replace("{deliver}", f'return "{note}"'))
    done = with_site(cli, site)("send", "bell", "tower", "hello", "--json")
    assert done.json()["message"] == "one"
    assert mentions(done.err, "second (second:Adapter)", "bell")


# --- plug-ins with bugs


def test_a_bug_in_a_plug_in_is_a_failed_result_and_its_traceback_is_for_verbose_alone(cli: Cli, site: Path):
    deliver = "raise ZeroDivisionError('made-up')"
    install(site, "buggy", CHANNEL.replace("{more}", "").replace("{deliver}", deliver))
    buggy = with_site(cli, site)
    done = buggy("send", "bell", "tower", "hello", "--json")
    assert done.code == 1
    assert "ZeroDivisionError: made-up" in done.json()["error"]
    verbose = buggy.shell("tocsin -v send bell tower hello")
    assert "Traceback" in verbose.err
    assert "ZeroDivisionError: made-up" in verbose.err


def test_a_plug_in_that_cannot_be_made_is_a_failed_result(cli: Cli, site: Path):
    broken = """return "bong"

    def __init__(self, config, tools):
        raise ZeroDivisionError("made-up")
"""
    install(site, "buggy", CHANNEL.replace("{more}", "").replace("{deliver}", broken))
    done = with_site(cli, site)("send", "bell", "tower", "hello", "--json")
    assert done.code == 1
    assert mentions(done.json()["error"], "Bell", "ZeroDivisionError")
