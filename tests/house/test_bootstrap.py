"""Without a Python that is new enough, the set-up says so in a sentence."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_machine_without_a_new_enough_python_is_told_what_to_install(tmp_path: Path):
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "dirname").symlink_to(shutil.which("dirname") or "")
    old = commands / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")

    done = subprocess.run(
        ["/bin/sh", "tools/bootstrap.sh", "dev"],
        cwd=tmp_path,
        env={"PATH": str(commands)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "fix: install one" in done.stderr
    assert not (tmp_path / ".venv").exists()
