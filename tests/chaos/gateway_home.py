"""A gateway in a directory of its own, with a front door."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.chaos.processes import TOCSIN, Child
from tests.ports import free_port


class GatewayHome:
    """The directory, the settings and the records of a gateway, which `gateway` runs."""

    def __init__(self, home: Path, **env: str) -> None:
        home.mkdir()
        self.home, self.port = home, free_port()
        self.env = {
            "PATH": os.environ["PATH"],
            "TOCSIN_DATA_DIR": str(home),
            "REDIS_URL": "off",
            "FRONT_DOOR_PORT": str(self.port),
            "GATEWAY_PORT": str(free_port()),
            "LOG_LEVEL": "warning",
            **env,
        }

    @contextmanager
    def gateway(self, *, kills: bool = False) -> Iterator[Child]:
        """Run a gateway until the end of the block, where it is stopped or killed."""
        child = Child([TOCSIN, "gateway"], self.home / "gateway.log", self.env, cwd=self.home)
        try:
            yield child
        finally:
            if kills:
                child.kill()
            child.stop()

    def run(self, *words: str) -> dict[str, Any]:
        """Run a command, and return its document."""
        argv = [TOCSIN, *words, "--json"]
        found: dict[str, Any] = json.loads(
            subprocess.run(argv, env=self.env, cwd=self.home, capture_output=True, check=True).stdout
        )
        return found

    def read(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with closing(sqlite3.connect(self.home / "tocsin.db", timeout=60)) as connection:
            return connection.execute(sql).fetchall()
