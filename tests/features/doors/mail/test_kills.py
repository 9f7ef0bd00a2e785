"""Kills of the process that accepts mail, amid the mails of several clients."""

import json
import smtplib
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random

from tests.chaos.processes import TOCSIN, Child
from tests.ports import free_port
from tests.waiting import until

KILLS, CLIENTS = 3, 4
PROFILES = "oncall:\n- {channel: ntfy, target: alerts}\n"


def test_no_accepted_mail_is_lost_when_the_process_is_killed(tmp_path: Path):
    server, chance = MailServer(tmp_path), Random(7)
    accepted: list[str] = []
    for kill in range(KILLS):
        with server.running(), ThreadPoolExecutor(CLIENTS) as clients:
            begun = len(accepted)
            for client in range(CLIENTS):
                clients.submit(server.send_until_the_end, f"{kill}-{client}", accepted)
            wanted = begun + chance.randrange(10, 40)
            until(lambda wanted=wanted: len(accepted) >= wanted, "mails to be accepted")
            server.kill()
    with server.running():
        until(lambda: not server.read("SELECT 1 FROM door_requests WHERE state = 'stored'"), "all mails to be queued")
    sent = [text for (text,) in server.read("SELECT message FROM deliveries")]

    assert set(accepted) <= set(sent)
    assert len(sent) == len(set(sent))


class MailServer:
    """A gateway that takes mail in a directory of its own."""

    def __init__(self, home: Path) -> None:
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
            "NTFY_URL": "http://127.0.0.1:9",  # nothing is delivered
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
            for n in range(100_000):
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
