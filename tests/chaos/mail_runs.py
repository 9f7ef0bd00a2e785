"""What mail in must show at full size: no accepted mail is lost when the gateway is killed."""

import json
import smtplib
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random

from tests.chaos.figures import Figure, none_of
from tests.chaos.processes import TOCSIN, Child
from tests.ports import free_port
from tests.waiting import until

SEED = 20_261_128
CLIENTS = 4
PROFILES = "oncall:\n- {channel: ntfy, target: alerts}\n"


def survive_kills(place: Path, *, kills: int, accepted: int) -> list[Figure]:
    """Kill the gateway while mails arrive; each one that was answered with 250 must be in the queue in the end."""
    server, chance, answered = MailServer(place / "mails"), Random(SEED), list[str]()
    for kill in range(1, kills + 1):
        with server.running(), ThreadPoolExecutor(CLIENTS) as clients:
            for client in range(CLIENTS):
                clients.submit(server.send_until_the_end, f"{kill}-{client}", answered)
            wanted = max(len(answered) + 1, accepted * kill // kills) + chance.randrange(CLIENTS)
            until(lambda wanted=wanted: len(answered) >= wanted, "mails to be accepted")
            server.kill()
    with server.running():
        until(lambda: not server.read("SELECT 1 FROM door_requests WHERE state = 'stored'"), "all mails to be queued")
    queued = [text for (text,) in server.read("SELECT message FROM deliveries")]
    return [
        Figure("kills of the gateway", kills),
        Figure("… mails answered with 250", len(answered), "≥", accepted),
        none_of("… of these lost", set(answered) - set(queued)),
        Figure("… queued twice", len(queued) - len(set(queued)), "=", 0),
    ]


class MailServer:
    """A gateway that takes mail in a directory of its own."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self.home, self.port = home, free_port()
        (home / "profiles.yaml").write_text(PROFILES)
        self.env = {
            "PATH": "/usr/bin:/bin",
            "TOCSIN_DATA_DIR": str(home),
            "REDIS_URL": "off",
            "LOG_LEVEL": "warning",
            "SMTP_IN_PORT": str(self.port),
            "FRONT_DOOR_PORT": str(free_port()),
            "GATEWAY_PORT": str(free_port()),
            "NTFY_URL": "http://127.0.0.1:9",
            "DELIVERY_WORKERS": "0",
        }
        words = ["doors", "add", "nas", "--protocol", "mail", "--profile", "oncall", "--rate", "1000000", "--json"]
        done = subprocess.run([TOCSIN, *words], env=self.env, capture_output=True, check=True, text=True)
        self.token = json.loads(done.stdout)["token"]
        self._child: Child

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run until the end of the block, or until `kill`."""
        self._child = Child([TOCSIN, "gateway"], self.home / "gateway.log", self.env, cwd=self.home)
        try:
            until(self._greets, "the greeting")
            yield
        finally:
            self._child.stop()

    def kill(self) -> None:
        self._child.kill()

    def send_until_the_end(self, name: str, accepted: list[str]) -> None:
        """Send mails until the connection ends; note the texts of those that were accepted."""
        with suppress(OSError, smtplib.SMTPException), smtplib.SMTP("127.0.0.1", self.port, timeout=60) as client:
            client.login("nas", self.token)
            for n in count():
                client.sendmail("a@x", ["oncall@x"], f"Subject: s\r\n\r\nmail {name}-{n}\r\n")
                accepted.append(f"mail {name}-{n}")

    def read(self, sql: str) -> list[tuple[str]]:
        with closing(sqlite3.connect(self.home / "tocsin.db", timeout=60)) as connection:
            return connection.execute(sql).fetchall()

    def _greets(self) -> bool:
        self._child.must_live()
        with suppress(OSError), smtplib.SMTP("127.0.0.1", self.port, timeout=60):
            return True
        return False
