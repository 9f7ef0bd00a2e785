"""What the dashboard offers to be written into files is what Tocsin reads from them."""

import re
from pathlib import Path

import pytest
from tests import command_line

from tocsin.features.registry import find_features
from tocsin.web.ui.assets import read_sources
from tocsin.web.ui.manifest import feature_pages

CHANNELS = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa",
    "SMTP_HOST": "localhost",
    "SMTP_USER": "ops@example.org",
    "SMTP_PASS": "not-a-password",
}
EXAMPLE = re.compile(r"^  \w*[eE]xample: `(.*?)`,$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("strings", "file", "command", "name"),
    [
        ("features/triggers/strings", "triggers.yaml", ("triggers", "list"), "deploy"),
        ("features/watchers/strings", "watchers.yaml", ("watchers", "list"), "scans"),
        ("strings/msg", "profiles.yaml", ("profiles",), "oncall"),
        ("features/ssh/strings", "ssh_hosts.yaml", ("ssh", "hosts"), "web1"),
        ("features/browser/strings", "browser_profiles.yaml", ("browser", "profiles"), "office"),
    ],
)
def test_an_example_is_read_without_a_complaint(
    strings: str, file: str, command: tuple[str, ...], name: str, tmp_path: Path
):
    found = EXAMPLE.search(read_sources(feature_pages(find_features().features))[f"{strings}.js"])
    assert found
    text = found[1].replace("\\\\", "\\")
    (tmp_path / file).write_text(text, encoding="utf-8")
    (tmp_path / file).chmod(0o600)
    env = {"TOCSIN_DATA_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **CHANNELS}
    done = command_line.call(command, env=env, cwd=tmp_path, program=Path("tocsin"))
    assert done.code == 0, done
    assert name in done.out
