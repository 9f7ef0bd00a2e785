"""Programs that others have written, installed apart from the product, and doors on a real port."""

import asyncio
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

import pytest
import uvicorn
from tests.features.doors.conftest import FrontBench, open_front
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

CACHE = Path(__file__).parents[4] / ".cache" / "door-clients"
# Of the newest releases that were recorded; none is a dependency of the product.
PACKAGES = (
    *("apprise==2.2.0", "discord-webhook==1.4.1", "gotify==0.6.0", "gotify-message==0.2.1", "matterhook==0.3"),
    *("ntfpy==0.0.12", "pdpyras==5.4.1", "python-ntfy==0.11.4", "slack-sdk==3.48.0", "slack-webhook==1.0.7"),
    "standardwebhooks==1.1.0",
)
PROGRAMS = ("nullmailer", "prometheus", "prometheus-alertmanager")  # Debian packages whose installation starts servers


@pytest.fixture(scope="session")
def python() -> Path:
    """The interpreter of an environment with the packages; skips if they cannot be installed."""
    place = CACHE / sha256(" ".join((*PACKAGES, sys.version)).encode()).hexdigest()[:12]
    with _alone():
        if not (place / "ready").exists():
            shutil.rmtree(place, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
            command = [sys.executable, "-m", "pip", f"--python={place}", "install", "-q", "--disable-pip-version-check"]
            done = subprocess.run([*command, *PACKAGES], capture_output=True, text=True, check=False)
            if done.returncode:
                unavailable(f"the clients cannot be installed: {done.stderr.strip().splitlines()[-1]}")
            (place / "ready").touch()
    return place / "bin" / "python"


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with the unpacked Debian packages; skips if they cannot be downloaded."""
    return unpacked_programs()


def unavailable(reason: str) -> NoReturn:
    """Skip a test whose client cannot be had; fail in continuous integration, where a skip is not seen."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def unpacked_programs() -> Path:
    """Return the folder with the unpacked Debian packages."""
    place = CACHE / f"debian-{sha256(' '.join(PROGRAMS).encode()).hexdigest()[:12]}"
    with _alone():
        if not (place / "ready").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            if shutil.which("apt-get") is None:
                unavailable("there is no apt-get to download Debian packages with")
            done = subprocess.run(
                ["apt-get", "-qq", "download", *PROGRAMS], cwd=place, capture_output=True, text=True, check=False
            )
            if done.returncode:
                unavailable(f"Debian packages cannot be downloaded: {done.stderr.strip()[-200:]}")
            for package in place.glob("*.deb"):
                subprocess.run(["dpkg-deb", "--extract", package, place], check=True)
            (place / "ready").touch()
    return place


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Wait for other workers that install the same."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[FrontBench]:
    """Doors that listen on a port of this machine, at the present time."""
    port = free_port()
    async with open_front(tmp_path, {"FRONT_DOOR_PORT": str(port)}) as front:
        present(front)
        config = uvicorn.Config(front.client.app, "127.0.0.1", port, log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        await eventually(lambda: server.started)
        yield front
        server.should_exit = True
        await serving


def present(front: FrontBench) -> None:
    """Advance the clock of a bench to the present time."""
    front.clock.advance(max(0.0, time.time() - front.clock.now()))


async def run(command: Sequence[str | Path]) -> str:
    """Run a client to its end, and return what it printed; fails if it does."""
    work = lambda: subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)  # noqa: E731
    done = await asyncio.to_thread(work)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
