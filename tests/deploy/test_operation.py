"""Every command of the page about operation does what the page says, under a root of its own.

Files, SQLite, git, pip and Tocsin are real. What would change the machine (systemctl, users, owners) is written down.
"""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.quick_start import script

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operation.md").read_text("utf-8")
# What is not taken literally here: places of the machine.
PLACES = re.compile(r"(?<![\w./])(?=/(?:opt/tocsin|var/lib/tocsin|etc/tocsin|etc/systemd|usr/local/bin|backup)\b)")
ONLY_NOTED = ("chown", "userdel", "docker", "journalctl")
SECRET = "xoxb-100000000001-example-example"

pytestmark = pytest.mark.skipif(
    not (shutil.which("sqlite3") and shutil.which("git")), reason="sqlite3 and git are needed to run the commands"
)


def section(title: str) -> list[str]:
    """Return the blocks of shell below a heading of the page."""
    text = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


FUNCTIONS = re.findall(r"^as_tocsin\(\).*$", PAGE, re.MULTILINE)[0]


@dataclass(frozen=True)
class Machine:
    """A root with an installation, and the commands that only note that they were called."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "var/lib/tocsin"

    @property
    def env_file(self) -> Path:
        return self.root / "etc/tocsin/tocsin.env"

    def run(self, script: str) -> str:
        """Run commands of the page; every one has to succeed."""
        own = PLACES.sub(str(self.root), f"{FUNCTIONS}\n{script}")
        done = subprocess.run(
            ["sh", "-ec", own], cwd=self.root / "checkout", env=self.environment(), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def tocsin(self, *arguments: str) -> str:
        words = " ".join(f"'{word}'" for word in arguments)
        return self.run(f"as_tocsin {words}")

    def queued(self) -> set[str]:
        found = json.loads(self.tocsin("deliveries", "list", "--json"))
        return {item["message"] for item in found}

    def noted(self) -> list[str]:
        return (self.root / "noted").read_text("utf-8").replace(str(self.root), "").splitlines()

    def environment(self) -> dict[str, str]:
        path = f"{self.root}/usr/local/bin:{self.root}/stubs:{os.environ['PATH']}"
        mine = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        return {
            **mine, "PATH": path, "HOME": str(self.root), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }  # fmt: skip


def write_script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


def make_repository(root: Path) -> None:
    """Make a checkout whose origin has one commit more."""

    def git(*arguments: str, cwd: Path) -> None:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)

    origin = root / "origin"
    for name in ("src", "requirements", "deploy"):
        shutil.copytree(ROOT / name, origin / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, origin / name)
    git("init", "--quiet", cwd=origin)
    git("add", ".", cwd=origin)
    git("commit", "--quiet", "-m", "Old", cwd=origin)
    git("clone", "--quiet", str(origin), str(root / "checkout"), cwd=root)
    (origin / "NEW").touch()
    git("add", ".", cwd=origin)
    git("commit", "--quiet", "-m", "New", cwd=origin)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    for folder in ("var/lib", "etc/systemd/system", "usr/local/bin", "backup", "checkout"):
        (tmp_path / folder).mkdir(parents=True)
    machine.data.mkdir(mode=0o700)
    machine.env_file.parent.mkdir()
    machine.env_file.touch(mode=0o600)
    machine.env_file.write_text(f"REDIS_URL=off\nTEAMCHAT_BOT_TOKEN={SECRET}\n", "utf-8")
    (tmp_path / "noted").touch()
    for name in ONLY_NOTED:
        write_script(tmp_path / "stubs" / name, f'echo {name} "$@" >> {tmp_path}/noted')
    # `runuser -u tocsin -- command`
    write_script(tmp_path / "stubs/runuser", 'shift 3; exec "$@"')
    program = script(tmp_path / "program")
    doctor = f"TOCSIN_DATA_DIR={machine.data} {program} --env-file {machine.env_file} --json doctor --offline"
    # It may end with an error here: a port in use is one.
    write_script(
        tmp_path / "stubs/systemctl",
        f'echo systemctl "$@" >> {tmp_path}/noted\n'
        f'[ "$*" != "start tocsin-doctor.service" ] || {doctor} > {tmp_path}/doctor.json || true',
    )
    write_script(tmp_path / "opt/tocsin/bin/tocsin", f'exec {program} "$@"')
    # Installs nothing, and finds only what is here already: what the locks pin, with the build requirements.
    write_script(tmp_path / "opt/tocsin/bin/pip", f'exec {sys.executable} -m pip "$@" --dry-run --no-index --quiet')
    (tmp_path / "usr/local/bin/tocsin").symlink_to(tmp_path / "opt/tocsin/bin/tocsin")
    machine.tocsin("send", "teamchat", "#ops", "before the backup", "--queue")
    machine.tocsin("bot", "access", "approve", "1001")
    (machine.data / "profiles.yaml").write_text("oncall:\n  - channel: slack\n    target: '#ops'\n", "utf-8")
    return machine


@pytest.fixture
def running(machine: Machine) -> Iterator[sqlite3.Connection]:
    """Have a service at work: a transaction that is committed, and still in `tocsin.db-wal` alone."""
    connection = sqlite3.connect(machine.data / "tocsin.db", isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("UPDATE deliveries SET message = 'in the wal alone'")
    assert (machine.data / "tocsin.db-wal").stat().st_size > 0
    yield connection
    connection.close()


def back_up(machine: Machine) -> None:
    (block,) = section("Back up")
    assert machine.run(block).splitlines()[-1] == "ok"


def states(machine: Machine) -> dict[str, set[str]]:
    """Return what doctor found in the unit, by subject."""
    found: dict[str, set[str]] = {}
    for finding in json.loads((machine.root / "doctor.json").read_text("utf-8"))["findings"]:
        found.setdefault(finding["subject"], set()).add(finding["state"])
    return found


def test_a_backup_has_what_the_database_had_committed_and_a_log_that_verifies(machine, running):
    back_up(machine)
    backup = machine.root / "backup"
    assert {path.name for path in backup.iterdir()} == {"etc", "data"}
    copy = sqlite3.connect(backup / "data/tocsin.db")
    assert copy.execute("SELECT message FROM deliveries").fetchall() == [("in the wal alone",)]
    copy.close()
    assert not [path for path in (backup / "data").iterdir() if path.name.endswith(("-wal", "-shm"))]
    assert (backup / "data/tocsin.db").stat().st_mode & 0o077 == 0
    assert (backup / "etc/tocsin.env").read_text("utf-8") == machine.env_file.read_text("utf-8")
    assert "ok: 2 lines" in machine.run(f"tocsin --data-dir {backup}/data audit verify")


def test_a_log_that_grows_while_it_is_copied_verifies_in_the_backup(machine):
    (block,) = section("Back up")
    head = "cp -p /var/lib/tocsin/audit.log.head /backup/audit.log.head\n"
    assert head in block
    machine.run(block.replace(head, f"{head}as_tocsin bot access approve 1002\nas_tocsin bot access approve 1003\n"))
    assert "ok: 4 lines" in machine.run("tocsin --data-dir /backup/data audit verify")


def test_a_restore_brings_back_the_moment_of_the_backup_and_doctor_is_content(machine, running):
    back_up(machine)
    machine.tocsin("send", "teamchat", "#ops", "after the backup", "--queue")
    machine.env_file.write_text("REDIS_URL=off\n", "utf-8")
    look_and_restore, look, start, _ = section("Restore")
    machine.run(look_and_restore)
    for path in (machine.data / "tocsin.db", machine.env_file):
        assert path.stat().st_mode & 0o777 == 0o600
    assert machine.data.stat().st_mode & 0o777 == 0o700
    printed = machine.run(look)
    assert "ok: 2 lines" in printed
    assert "#ops" in printed
    assert machine.queued() == {"in the wal alone"}
    found = states(machine)
    assert {name: found[name] for name in ("data directory", ".env", "queue", "audit log")} == {
        "data directory": {"ok"}, ".env": {"ok"}, "queue": {"ok"}, "audit log": {"ok"},
    }  # fmt: skip
    machine.run(start)
    assert [line for line in machine.noted() if line.startswith(("systemctl", "chown"))] == [
        "systemctl stop tocsin.service",
        "chown -R tocsin:tocsin /var/lib/tocsin",
        "chown tocsin:tocsin /etc/tocsin/tocsin.env",
        "systemctl start tocsin-doctor.service",
        "systemctl start tocsin.service",
    ]


def test_a_damaged_database_is_put_back_alone(machine, running):
    back_up(machine)
    running.close()
    machine.tocsin("bot", "access", "approve", "1002")
    (machine.data / "tocsin.db").write_bytes(b"damaged" * 1000)
    machine.run(section("Restore")[3])
    assert machine.queued() == {"in the wal alone"}
    assert states(machine)["queue"] == {"ok"}
    assert "ok: 3 lines" in machine.tocsin("audit", "verify")


def test_an_upgrade_takes_the_new_commit_and_what_the_locks_pin_and_keeps_the_data(machine):
    (machine.root / "checkout").rmdir()
    make_repository(machine.root)
    (block,) = section("Upgrade")
    assert machine.run(block).splitlines()[-1].startswith("tocsin ")
    assert (machine.root / "checkout/NEW").exists()
    units = {path.name for path in (machine.root / "etc/systemd/system").iterdir()}
    assert units == {path.name for path in (ROOT / "deploy/systemd").iterdir()}
    assert machine.queued() == {"before the backup"}
    assert states(machine)["queue"] == {"ok"}


def test_uninstalling_leaves_the_data_until_that_is_removed_too(machine):
    for unit in (ROOT / "deploy/systemd").iterdir():
        shutil.copy(unit, machine.root / "etc/systemd/system")
    program, everything = section("Uninstall")
    machine.run(program)
    assert list((machine.root / "etc/systemd/system").iterdir()) == []
    assert not (machine.root / "usr/local/bin/tocsin").is_symlink()
    assert (machine.data / "tocsin.db").exists()
    machine.run(everything)
    left = [path.name for top in ("opt", "etc", "var", "usr") for path in (machine.root / top).rglob("*tocsin*")]
    assert left == []
    assert machine.noted()[-1] == "userdel tocsin"


def test_the_commands_for_containers_name_services_and_profiles_of_the_compose_file(machine):
    compose = (ROOT / "deploy/compose.yaml").read_text("utf-8")
    for block in section("Containers"):
        machine.run(block)
    calls = [line.split() for line in machine.noted() if line.startswith("docker")]
    assert calls
    for words in calls:
        assert words[:4] == ["docker", "compose", "--profile", "one"]
    assert "profiles: [one]" in compose
    assert "data:/var/lib/tocsin" in compose
