"""Profiles in a data directory, and a small program that behaves as Chromium does towards who starts it."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tocsin.features.browser.feature import FEATURE
from tocsin.features.browser.model import BrowserLook, BrowserStatus
from tocsin.features.browser.service import Browsers
from tocsin.features.browser.store import BrowserStore
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import FeatureBench, open_feature

_PROGRAM = """#!{python} -IS
import os, signal, socket, sys
FOLDER = {folder!r}
with open(FOLDER + "/pids", "a") as file:
    file.write(str(os.getpid()) + "\\n")
with open(FOLDER + "/command", "w") as file:
    file.write("\\n".join(sys.argv[1:]))
mode = open(FOLDER + "/mode").read()
options = dict(word[2:].partition("=")[::2] for word in sys.argv[1:])
place = options["user-data-dir"]

def end(*_):
    if mode == "stubborn":
        return
    os.makedirs(place + "/Default", exist_ok=True)
    with open(place + "/Default/Preferences", "w") as file:
        file.write('{{"profile": {{"exit_type": "SessionEnded"}}}}')
    os._exit(0)

signal.signal(signal.SIGTERM, end)
if mode == "dies":
    sys.exit("cannot open display for bot123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
listener = socket.create_server(("127.0.0.1", int(options["remote-debugging-port"])))
if mode == "silent":
    signal.pause()
with open(place + "/DevToolsActivePort.new", "w") as file:
    file.write(str(listener.getsockname()[1]) + "\\n/devtools/browser/1")
os.rename(place + "/DevToolsActivePort.new", place + "/DevToolsActivePort")
while True:
    connection, _ = listener.accept()
    connection.recv(4096)
    connection.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n{{"webSocketDebuggerUrl": "ws://x"}}')
    connection.close()
"""


@dataclass
class Site:
    """A data directory whose profiles are written as data."""

    bench: FeatureBench
    data_dir: Path
    folder: Path
    program: Path
    clock: FakeClock

    @property
    def browsers(self) -> Browsers:
        service: Browsers = self.bench.service
        return service

    def write(self, *profiles: dict[str, Any]) -> None:
        (self.data_dir / "browser_profiles.yaml").write_text(json.dumps({"profiles": profiles}))

    def write_managed(self, name: str = "office", **more: Any) -> None:
        self.write({"name": name, "executable": str(self.program), "sandbox": False, **more})

    def behave(self, mode: str) -> None:
        """Make browsers that are started from now on behave in another way."""
        (self.folder / "mode").write_text(mode)

    async def change_record(self, **changes: Any) -> None:
        """Change what is recorded of the browser of the profile office."""
        store = BrowserStore(self.bench.app.database)
        await store.put((await store.all())["office"]._replace(**changes))

    def pids(self) -> list[int]:
        """Return every browser that was started, in order."""
        path = self.folder / "pids"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    async def look(self, name: str = "office") -> BrowserLook:
        return next(look for look in await self.browsers.looks() if look.profile.name == name)

    async def status(self, name: str = "office") -> BrowserStatus:
        return (await self.look(name)).status


def write_program(folder: Path) -> Path:
    """Write the program into a folder, where it tells what it does and reads how to behave."""
    program = folder / "chromium"
    program.write_text(_PROGRAM.format(python=sys.executable, folder=str(folder)))
    program.chmod(0o755)
    return program


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "machine"
    made.mkdir()
    (made / "mode").write_text("")
    yield made
    for pid in (made / "pids").read_text().split() if (made / "pids").exists() else []:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@pytest.fixture
async def site(tmp_path: Path, folder: Path) -> AsyncIterator[Site]:
    program = write_program(folder)
    data_dir, clock = tmp_path / "data", FakeClock()
    data_dir.mkdir()
    async with open_feature(FEATURE, data_dir, {"PATH": str(folder)}, clock=clock) as bench:
        yield Site(bench, data_dir, folder, program, clock)


@pytest.fixture
def bench(site: Site) -> FeatureBench:
    return site.bench
