"""No secret of a channel that brings a stand-in is in a list, log, audit entry, error or list of processes."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.cli.test_serve import post
from tests.contract.test_hostile_products import CHANNELS, secrets_of
from tests.town_thread import town_on_a_thread

import tocsin
from tocsin.core.plugins import load_class
from tocsin_standins import Fault, StandinCluster

GATEWAY_TOKEN = "canary-example-gateway"


@pytest.fixture(scope="module")
def reach() -> Iterator[StandinCluster]:
    with town_on_a_thread([load_class(channel.standin) for channel in CHANNELS.values()]) as town:
        yield town


@pytest.fixture
def reaching(reach: StandinCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command with every channel; the addresses in `targets.yaml` are those of the environment."""
    env = {name: value for server in reach.further for name, value in server.environment().items()}
    entries: dict[str, dict[str, dict[str, object]]] = {}
    for server in reach.further:
        server.faults.clear()
        for name, entry in server.targets().items():
            hidden = {
                key: f"${{env.{server.channel.upper()}_{key.upper()}}}" for key in ("url", "secret") if key in entry
            }
            env |= {f"{server.channel.upper()}_{key.upper()}": str(entry[key]) for key in hidden}
            entries.setdefault(server.channel, {})[name] = {**entry, **hidden}
    cli = Cli(tmp_path, {**env, "GATEWAY_TOKEN": GATEWAY_TOKEN})
    cli.data_dir.mkdir()
    (cli.data_dir / "targets.yaml").write_text(json.dumps(entries))
    for name, value in cli.env.items():
        monkeypatch.setenv(name, value)
    asyncio.run(keep_documents(reach))
    return cli


async def keep_documents(reach: StandinCluster) -> None:
    async with tocsin.open() as t:
        for server in reach.further:
            if text := server.document():
                await t._app.stores.document(server.channel).change(lambda _, text=text: text)  # noqa: SLF001  # people add devices by a browser


def secrets(reach: StandinCluster) -> dict[str, str]:
    """Return each secret with the channel whose it is."""
    found = {
        secret: server.channel for server in reach.further for secret in secrets_of(server, CHANNELS[server.channel])
    }
    for server in reach.further:
        if text := server.document():
            document = json.loads(text)
            endpoint, _, auth = document["devices"][0]["subscription"]
            found |= dict.fromkeys((endpoint, auth, document["keys"]["private"]), server.channel)
    assert set(found.values()) == set(CHANNELS)
    return found


def echo_of(reach: StandinCluster, channel: str) -> str:
    """Return the secrets that a careless product of this channel would send back."""
    return " ".join(secret for secret, owner in secrets(reach).items() if owner == channel)


def leaks(reach: StandinCluster, text: str) -> list[str]:
    return [channel for secret, channel in secrets(reach).items() if secret in text]


def files_of(directory: Path) -> str:
    # The store has the devices of Web Push, as it must.
    files = (path for path in directory.rglob("*") if path.is_file() and "tocsin.db" not in path.name)
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


def test_no_command_shows_a_secret_of_any_channel(reaching: Cli, reach: StandinCluster):
    sends = [("send", server.channel, server.sample, "hello", "--json") for server in reach.further]
    for command in sends:
        assert reaching(*command).json()["ok"], command
    for server, command in zip(reach.further, sends, strict=True):
        echo = echo_of(reach, server.channel)
        for fault in (Fault.error("x", f"no {echo}", http_status=401), Fault.html_200(echo), Fault.status(502, echo)):
            server.faults.push(fault)
            done = reaching("-v", *command)
            assert leaks(reach, done.out + done.err) == [], (command, fault.kind)
            server.faults.clear()
    for command in (
        ("channels", "--json", "-v"),
        ("config", "show", "--all"),
        ("targets", "list"),
        ("targets", "check", "--json"),
        ("devices", "list", "--json"),
        ("doctor", "--json", "-v"),
        ("deliveries", "list", "--json"),
        ("audit", "tail", "--json"),
        *(("test", server.channel) for server in reach.further),
    ):
        done = reaching(*command)
        assert leaks(reach, done.out + done.err) == [], command
    audited = json.dumps(reaching.audit_log())
    assert [kind for kind in CHANNELS if f'"{kind}"' not in audited] == []
    assert leaks(reach, files_of(reaching.data_dir)) == []


def test_no_secret_of_any_channel_is_in_a_list_of_processes_or_the_log(
    reaching: Cli, reach: StandinCluster, free_port: int
):
    with reaching.running("gateway", "-v", env={"GATEWAY_PORT": str(free_port)}) as child:
        before = wait_until_it_listens(child)
        answers = []
        for server in reach.further:
            message = {"channel": server.channel, "target": server.sample, "message": "hello"}
            answers.append(post(free_port, message, Authorization=f"Bearer {GATEWAY_TOKEN}"))
            server.faults.push(Fault.status(502, echo_of(reach, server.channel)))
            answers.append(post(free_port, message, Authorization=f"Bearer {GATEWAY_TOKEN}"))
            server.faults.clear()
        listed = "".join(arguments(path) for path in Path("/proc").glob("[0-9]*/cmdline"))
        _, out, err = end(child)
    assert [status for status, _ in answers[::2]] == [200] * len(CHANNELS)
    assert "tocsin.channels.apprise.child" in listed
    assert leaks(reach, f"{before} {answers} {listed} {out} {err}") == []


def arguments(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""
