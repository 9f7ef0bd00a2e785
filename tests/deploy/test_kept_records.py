"""Records of a former version are all listed by this one, and by a restored backup of it.

`kept_by/` holds the database of that version, and what its commands listed: `tools/install_proof` with `--keep`.
"""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from tests.quick_start import script
from tools.install_proof.debian import DebianRoot
from tools.install_proof.installation import Installation
from tools.install_proof.records import IN_DATABASE, audit_lines, listed, lost
from tools.install_proof.ways import commands_of

KEPT_BY = Path(__file__).parent / "kept_by"


class InHome(Installation):
    """This version, with a home directory of its own; its services do not run."""

    def attempt(self, *words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        return self.call([*self.program, *words], text)

    def call(self, command: list[str], text: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a command with nothing but the home directory in its environment."""
        mine = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        env = {**mine, "PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8", "REDIS_URL": "off"}
        return subprocess.run(command, input=text, capture_output=True, text=True, env=env, cwd=self.home, check=False)


def load(version: Path, home: Path) -> InHome:
    """Return an installation for one user with the database of a former version."""
    data = home / ".local/share/tocsin"
    data.mkdir(parents=True, mode=0o700)
    connection = sqlite3.connect(data / "tocsin.db")
    connection.executescript((version / "tocsin.db.sql").read_text("utf-8"))
    connection.close()
    (home / "tocsin/bin").mkdir(parents=True)
    program = script(home / "tocsin/bin/tocsin")
    return InHome(DebianRoot(Path("/")), [str(program)], "", str(home), str(data), (0, 0))


@pytest.fixture(params=sorted(KEPT_BY.iterdir()), ids=lambda path: path.name)
def version(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


def test_every_record_of_a_former_version_is_listed_with_all_its_values(version: Path, tmp_path: Path):
    before = json.loads((version / "listed.json").read_text("utf-8"))
    assert set(before) == set(IN_DATABASE)
    assert list(lost(before, listed(load(version, tmp_path), IN_DATABASE))) == []


def test_what_one_user_backs_up_is_restored_with_every_record_secret_and_audit_line(version: Path, tmp_path: Path):
    tocsin = load(version, tmp_path)
    (tocsin.data_path / ".env").write_text("TEAMCHAT_BOT_TOKEN=xoxb-100000000001-example-example\n", "utf-8")
    (tocsin.data_path / ".env").chmod(0o600)
    tocsin.tocsin("vault", "init")
    tocsin.tocsin("vault", "set", "API_KEY", text="a value of the vault\n")
    tocsin.tocsin("send", "slack", "#ops", "waits", "--queue")
    back_up, _, restore = commands_of("docs/operation.md", "## For one user")
    before, log = listed(tocsin, IN_DATABASE), audit_lines(tocsin)
    done = tocsin.call(["sh", "-ec", back_up])
    assert (done.returncode, done.stderr) == (0, "")
    tocsin.tocsin("vault", "set", "API_KEY", text="a later value\n")
    tocsin.tocsin("memory", "set", "later", "is not in the backup")
    done = tocsin.call(["sh", "-ec", restore])
    assert done.returncode == 0, done.stdout + done.stderr
    after = listed(tocsin, IN_DATABASE)
    assert [*lost(before, after), *lost(after, before)] == []
    assert tocsin.tocsin("vault", "get", "API_KEY") == "a value of the vault\n"
    assert audit_lines(tocsin)[: len(log)] == log
