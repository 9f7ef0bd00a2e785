"""A folder of a stranger is looked at with git without starting anything that it names."""

import os
import subprocess
from pathlib import Path

from tocsin.features.assistant_skills.local.git import GitFolder


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


async def test_no_program_that_a_folder_names_is_run_when_its_change_is_read(tmp_path: Path):
    folder, trap = tmp_path / "folder", tmp_path / "trap"
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / ".gitattributes").write_text("* filter=a.b diff=evil\n")
    (folder / "file").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "One")
    for key in ("filter.a.b.clean", "filter.a.b.process", "core.fsmonitor", "diff.external", "diff.evil.textconv"):
        git(folder, "config", key, f"sh -c 'touch {trap}; cat'")
    (folder / "file").write_text("two\n")
    change = await GitFolder(folder, dict(os.environ)).change()
    assert ([file.path for file in change.files], "+two" in change.diff) == (["file"], True)
    assert not trap.exists()
    subprocess.run(["git", "-C", folder, "diff", "HEAD"], check=False, capture_output=True)
    assert trap.exists()  # the trap works
