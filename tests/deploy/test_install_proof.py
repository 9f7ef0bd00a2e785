"""Each way of running installs, upgrades and restores in an empty Debian root: `make install-proof`, and its parts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.install_proof.records import lost
from tools.install_proof.ways import commands_of

ROOT = Path(__file__).parents[2]
ABLE = os.geteuid() == 0 and shutil.which("mmdebstrap") and os.environ.get("TOCSIN_INSTALL_PROOF")


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not ABLE, reason="takes 10 minutes: set TOCSIN_INSTALL_PROOF=1 as root, with mmdebstrap installed")
@pytest.mark.parametrize("way", ["image", "wheel", "checkout"])
def test_an_empty_debian_runs_upgrades_and_restores_each_way(way: str):
    done = subprocess.run([sys.executable, "-m", "tools.install_proof", way], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("page", "heading", "number"),
    [
        ("docs/guide.md", "## Install", 1),
        ("docs/guide.md", "### For one user", 1),
        ("docs/operation.md", "## For one user", 3),
        ("docs/operation.md", "## Upgrade", 1),
    ],
)
def test_the_pages_have_the_commands_that_the_proof_executes(page: str, heading: str, number: int):
    assert len(commands_of(page, heading)) == number


def test_a_missing_row_a_missing_field_and_a_changed_value_are_losses():
    before = {"rows": [{"id": 1, "text": "a"}, {"id": 2, "text": "b", "age": 5}]}
    assert list(lost(before, {"rows": [{"id": 2, "text": "b", "age": 6, "new": 0}, {"id": 1, "text": "a"}]})) == []
    assert len(list(lost(before, {"rows": [{"id": 1, "text": "a"}]}))) == 1
    assert len(list(lost(before, {"rows": [{"id": 1, "text": "a"}, {"id": 2, "text": "c"}]}))) == 1
    assert len(list(lost(before, {"rows": [{"id": 1}, {"id": 2, "text": "b"}]}))) == 1
    assert len(list(lost(before, {}))) == 1
