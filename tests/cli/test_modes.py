"""Every file and directory that the program makes is for its user alone, whatever the umask is."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.cli.test_receiving import ended, environment, report

from tocsin.cli.demo.files import DemoPorts, write_files
from tocsin.core.audit.log import AuditLog
from tocsin.messaging.outbound.audit_anchor import STATE_FILE
from tocsin_standins import StandinCluster


def modes(place: Path) -> dict[str, str]:
    """Return the mode of everything below a directory, itself included, but for what the test wrote."""
    found = {}
    for path in (place, *place.rglob("*")):
        with suppress(FileNotFoundError):  # what a service replaces meanwhile
            found[str(path.relative_to(place))] = path.lstat()
    return {
        name: f"{'directory' if stat.S_ISDIR(status.st_mode) else 'file'} {stat.S_IMODE(status.st_mode):o}"
        for name, status in found.items()
        if not name.startswith(("skills", "triggers.yaml"))
    }


@contextmanager
def its(umask: int) -> Iterator[None]:
    """Have another umask meanwhile."""
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


def write_work(cli: Cli) -> None:
    skill = cli.data_dir / "skills" / "greet"
    skill.mkdir(parents=True, mode=0o755)
    cli.data_dir.chmod(0o700)
    (skill / "skill.yaml").write_text("name: greet\ndescription: Greets.\ncommand: echo hello\n")
    rules = "- pattern: hello\n  command: echo hello\n- pattern: greet\n  action: skill\n  command: greet\n"
    (cli.data_dir / "triggers.yaml").write_text(rules)
    for path in (skill / "skill.yaml", cli.data_dir / "triggers.yaml"):
        path.chmod(0o644)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_all_that_commands_and_services_make_is_for_their_user_alone(
    wired: Cli, free_port: int, until: Callable[..., Any], umask: int
):
    with its(umask):
        assert wired("init", "--env-file", "fresh.env").code == 0
        assert wired("--data-dir", "deep/down", "send", "teamchat", "#ops", "hello").code == 0
    assert (wired.home / "fresh.env").stat().st_mode & 0o777 == 0o600
    assert set(modes(wired.home / "deep").values()) == {"directory 700", "file 600"}

    write_work(wired)
    with its(umask):
        assert wired("skills", "run", "greet").code == 0
        assert wired("skills", "run", "--mode", "sandboxed", "greet").code == 0
    log = AuditLog(wired.data_dir / "audit.log")
    for _ in range(10):
        log.append("msg.send", "made-up", source="test")
    log.close()
    anchors = {"AUDIT_ANCHOR": str(wired.data_dir / "anchors"), "AUDIT_ANCHOR_EVERY": "10", "ALLOWED_CHAT_IDS": "7"}
    with wired.running("up", env={**environment(free_port), **anchors}, umask=umask) as child:
        wait_until_it_listens(child)
        assert report(free_port, "a-secret-for-tests-000000")[0] == 200
        until(lambda: ended(wired))
        until((wired.data_dir / STATE_FILE).exists)
        made = modes(wired.data_dir)  # the side files of the database are there while it is open
        assert end(child)[0] == 0
    made |= modes(wired.data_dir)
    wrong = {name: mode for name, mode in made.items() if mode not in {"directory 700", "file 600"}}
    assert wrong == {}
    assert {"tocsin.db", "tocsin.db-wal", "tocsin.db-shm", "audit.log", STATE_FILE, "runs"} <= made.keys()
    assert [name for name in made if name.endswith(".jsonl")] or list(wired.data_dir.glob("runs/*/*"))


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_files_of_the_demo_are_for_its_user_alone(tmp_path: Path, town: StandinCluster, umask: int):
    with its(umask):
        write_files(tmp_path, town, DemoPorts(8100, 8200, 8300), "off")
    found = {path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert {name: mode for name, mode in found.items() if mode not in {0o700, 0o600}} == {}
    assert {".env", "triggers.yaml", "profiles.yaml", "skills/greet/skill.yaml", "cron.d/backup.yaml"} <= found.keys()
