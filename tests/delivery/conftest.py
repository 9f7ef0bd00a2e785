"""Real Redis servers: one for all tests of a process, and one that a test may mistreat."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from tests.databases import copied_tables
from tests.redis_clients import patient_redis
from tests.waiting import PATIENCE_S, until

from tocsin.core.time.clock import Clock
from tocsin.delivery.redis.store import RedisStore
from tocsin.delivery.store import DeliveryStore

__all__ = ["copied_tables"]

pytest.register_assert_rewrite("tests.delivery.store_contract", "tests.delivery.store_machine")

SETTINGS = {"appendonly": "yes", "appendfsync": "always", "save": "", "daemonize": "no"}


class RedisServer:
    """A redis-server process with a directory of its own, reached by a Unix socket."""

    def __init__(self, directory: Path, program: str = "redis-server", **settings: str) -> None:
        self.directory = directory
        self._program = program
        self.socket = directory / "redis.sock"
        self.password = settings.get("requirepass", "")
        self._settings = {**SETTINGS, "port": "0", "unixsocket": str(self.socket), "dir": str(directory), **settings}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        program = shutil.which(self._program)
        assert program, f"these tests need {self._program} (Debian: apt-get install {self._program})"
        config = self.directory / "redis.conf"
        # `include` would follow our settings; an empty value is written as two quotes.
        config.write_text("".join(f'{name.replace("_", "-")} "{value}"\n' for name, value in self._settings.items()))
        log = (self.directory / "log").open("ab")
        with log:
            self._process = subprocess.Popen([program, str(config)], stdout=log, stderr=log)
        self._wait_until_it_answers()

    def kill(self) -> None:
        """End it as a crash does."""
        self._signal(signal.SIGKILL)
        self._wait()

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.resume()
            self._signal(signal.SIGTERM)
            self._wait()

    def ask(self, *words: str) -> str:
        """Send one inline command over a connection of its own; return the first line of the answer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(str(self.socket))
            if self.password:
                connection.sendall(f"AUTH {self.password}\r\n".encode())
                connection.recv(1024)
            connection.sendall(f"{' '.join(words)}\r\n".encode())
            return connection.recv(65536).decode(errors="replace").strip()

    def _wait_until_it_answers(self) -> None:
        def look() -> bool:
            try:
                return self.ask("PING") == "+PONG"
            except OSError:
                return False

        until(look, (self.directory / "log").read_text)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _wait(self) -> None:
        assert self._process is not None
        self._process.wait(PATIENCE_S)


@contextmanager
def running_redis(**settings: str) -> Iterator[RedisServer]:
    """Run a server for as long as the block lasts."""
    # Not below pytest's directory: the path of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="redis-") as directory:
        server = RedisServer(Path(directory), **settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@asynccontextmanager
async def queue_in_redis(url: str, prefix: str, clock: Clock) -> AsyncIterator[DeliveryStore]:
    """Open the delivery queue in a server, as one process does."""
    client = patient_redis(url)
    yield RedisStore(client, clock, prefix=prefix)
    await client.aclose()
