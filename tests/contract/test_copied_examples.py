"""The examples work outside the checkout, with a wheel of Tocsin: what authors of plug-ins copy and install."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").iterdir() if (path / "pyproject.toml").exists())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what the wheel installs, and nothing else."""
    place = tmp_path_factory.mktemp("wheel")
    # As `make plugins`, which also installs the extra, does with a network.
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = place.glob("*.whl")
    shutil.unpack_archive(wheel, place / "installed", "zip")
    return place / "installed"


def test_the_tests_of_copied_examples_pass_outside_the_checkout(installed: Path, tmp_path: Path):
    for name in EXAMPLES:
        shutil.copytree(ROOT / "examples" / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    settings = {
        (tmp_path / name / "pyproject.toml").read_text().partition("[tool.pytest.ini_options]")[2] for name in EXAMPLES
    }
    assert len(settings) == 1, "one process runs the tests of all"
    (tmp_path / "conftest.py").write_text(f"import tocsin\n\nassert tocsin.__file__.startswith({str(installed)!r})\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis"),
            *("-c", f"{EXAMPLES[0]}/pyproject.toml", "--rootdir", tmp_path, *EXAMPLES),
        ],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
