"""Services report to the service manager, reload at SIGHUP, and write to its journal."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import TOCSIN, Cli, end, wait_until_it_listens
from tests.waiting import PATIENCE_S, until

from tocsin.core.config.settings import Settings


class Manager:
    """Receives what a service tells its manager."""

    def __init__(self, sock: socket.socket, address: str) -> None:
        self.address = address
        self._sock = sock

    def next(self) -> dict[str, str]:
        """Return the next message that is not a sign of life."""
        while True:
            found = dict(line.split("=", 1) for line in self._sock.recv(4096).decode().splitlines())
            if "WATCHDOG" not in found:
                return found

    def wait_for_sign_of_life(self) -> None:
        while self._sock.recv(4096) != b"WATCHDOG=1":
            pass


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    address = str(tmp_path / "notify") if request.param == "path" else f"@{tmp_path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(address.replace("@", "\0"))
        sock.settimeout(PATIENCE_S)
        yield Manager(sock, address)


def test_a_service_reports_ready_reloading_and_stopping(cli: Cli, free_port: int, manager: Manager):
    env = {"GATEWAY_PORT": str(free_port), "NOTIFY_SOCKET": manager.address}
    with cli.running("gateway", env=env) as child:
        started = manager.next()
        assert started["READY"] == "1"
        assert f"http://127.0.0.1:{free_port}" in started["STATUS"]
        child.send_signal(signal.SIGHUP)
        reloading = manager.next()
        assert (reloading["RELOADING"], reloading["MONOTONIC_USEC"].isdecimal()) == ("1", True)
        assert manager.next() == started
        code, _, _ = end(child)
        assert (code, manager.next()["STOPPING"]) == (0, "1")


def test_the_watchdog_gets_signs_of_life_for_as_long_as_the_service_runs(cli: Cli, manager: Manager):
    with cli.running("worker", env={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "30000"}) as child:
        for _ in range(3):
            manager.wait_for_sign_of_life()
        assert end(child)[0] == 0


def test_a_manager_that_does_not_listen_is_reported_once_and_stops_no_service(cli: Cli, free_port: int):
    env = {"GATEWAY_PORT": str(free_port), "NOTIFY_SOCKET": str(cli.home / "none"), "WATCHDOG_USEC": "3000"}
    with cli.running("gateway", env=env) as child:
        before = wait_until_it_listens(child)
        code, _, after = end(child)
    lines = [*before, *map(json.loads, after.splitlines())]
    assert code == 0
    assert sum("service manager" in line["event"] for line in lines) == 1


def test_sighup_reports_errors_in_files_that_people_write_and_reopens_the_log(cli: Cli, free_port: int):
    path = cli.home / "tocsin.log"
    with cli.running("gateway", env={"GATEWAY_PORT": str(free_port), "LOG_FILE": str(path)}) as child:
        read = _lines_until(path, "listening", child.pid)
        assert not any("invalid" in line["event"] or "rejected" in line["event"] for line in read)
        path.rename(cli.home / "tocsin.log.1")
        cli.write_profiles("oncall: [nowhere]\n")
        child.send_signal(signal.SIGHUP)
        read = _lines_until(path, "files were read again", child.pid)
        assert any("profiles.yaml" in json.dumps(line) for line in read)
        assert end(child)[0] == 0


def _lines_until(path: Path, event: str, pid: int) -> list[dict[str, str]]:
    def found() -> list[dict[str, str]]:
        os.kill(pid, 0)
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return lines if any(line["event"] == event for line in lines) else []

    return until(found)


@pytest.mark.parametrize(("is_journal", "first"), [(True, "<4>"), (False, "{")])
def test_a_service_writes_priorities_if_its_standard_error_is_the_journal(cli: Cli, is_journal: bool, first: str):
    with (cli.home / "journal").open("w") as journal:
        found = os.fstat(journal.fileno())
        stream = f"{found.st_dev}:{found.st_ino if is_journal else 1}"
        env = {**cli.env, "JOURNAL_STREAM": stream, "DELIVERY_WORKERS": "0", "WEBHOOK_REQUIRE_SIGNATURE": "false"}
        done = subprocess.run([TOCSIN, "worker"], stderr=journal, cwd=cli.home, env=env, check=False)
    assert done.returncode == 2
    assert (cli.home / "journal").read_text().startswith(first)


def test_children_of_a_service_do_not_speak_to_its_manager():
    told = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "JOURNAL_STREAM": "1:1", "LANG": "C"}
    settings = Settings.load(environ=told)
    assert settings.inheritable() == {"LANG": "C"}
    assert settings.from_parent("NOTIFY_SOCKET") == "@x"
