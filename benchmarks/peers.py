"""The programs that Tocsin is compared with, each in an environment of its own, and a fresh core installation."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "bench"


def apprise_environment() -> Path:
    """Return the `bin` directory of an environment with Apprise and the server that the gateway runs on."""
    return _environment("apprise", ["apprise", "uvicorn", "uvloop", "httptools"])


def core_environment() -> Path:
    """Return the `bin` directory of an environment that holds Tocsin's core installation and nothing else."""
    return _environment("core", ["--require-hashes", "-r", str(ROOT / "requirements" / "core.txt")], with_tocsin=True)


def _environment(name: str, install: list[str], *, with_tocsin: bool = False) -> Path:
    home = CACHE / name
    binaries = home / "bin"
    if not (home / "complete").exists():
        print(f"setting up the environment {name} …", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        _run(sys.executable, "-m", "venv", str(home))
        _run(str(binaries / "pip"), "install", "--quiet", *install)
        _run(str(binaries / "python"), "-m", "compileall", "-q", str(home / "lib"))
        (home / "complete").touch()
    if with_tocsin:
        _install_tocsin(home, binaries)
    return binaries


def _install_tocsin(home: Path, binaries: Path) -> None:
    """Install the checkout as a wheel, as a user gets it."""
    wheels = CACHE / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    _run(*wheel, "-w", str(wheels), str(ROOT))
    _run(
        str(binaries / "pip"),
        "install",
        "--quiet",
        "--no-deps",
        "--force-reinstall",
        *map(str, wheels.glob("*.whl")),
    )
    _run(str(binaries / "python"), "-m", "compileall", "-q", str(home / "lib"))


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)
