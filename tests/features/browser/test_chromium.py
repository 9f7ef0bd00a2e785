"""A real Chromium, started by the command."""

import json
import os
import shutil
import signal
import urllib.request
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions
from tests.waiting import until

from tocsin.core.process.identity import is_alive, read_identity


@pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed")
def test_a_real_chromium_goes_on_after_the_command_and_is_seen_when_it_dies(tmp_path: Path):
    cli = Cli(tmp_path, {})
    cli.data_dir.mkdir()
    profile = {"name": "office", "default": True, **({"sandbox": False} if os.geteuid() == 0 else {})}
    (cli.data_dir / "browser_profiles.yaml").write_text(json.dumps({"profiles": [profile]}))
    started = cli("browser", "start", "--json")
    assert started.code == 0, started.err
    document = started.json()
    pid = document["pid"]
    try:
        assert (document["status"], document["size_bytes"] > 0) == ("running", True)
        with urllib.request.urlopen(f"{document['cdp_endpoint']}/json/version") as answer:
            assert "Chrome/" in json.load(answer)["Browser"]
        # Its own lock keeps a second one away, also one that we did not start.
        assert (cli.data_dir / "browser/office/data/SingletonLock").readlink().name.endswith(f"-{pid}")
        assert cli("browser", "start").out == f"office: process {pid}, {document['cdp_endpoint']}\n"
    finally:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(read_identity(pid)))
    (found,) = cli("browser", "profiles", "--json").json()
    assert (found["status"], found["pid"], mentions(found["error"], pid)) == ("error", None, True)
