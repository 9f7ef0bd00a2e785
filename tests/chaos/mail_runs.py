"""What mail in must show at full size: no accepted mail is lost when the gateway is killed."""

import smtplib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random

from tests.chaos.figures import Figure, none_of
from tests.chaos.gateway_home import GatewayHome
from tests.chaos.processes import Child
from tests.ports import free_port
from tests.waiting import until

SEED = 20_261_128
CLIENTS = 4
PROFILES = "oncall:\n- {channel: ntfy, target: alerts}\n"


def survive_kills(place: Path, *, kills: int, accepted: int) -> list[Figure]:
    """Kill the gateway while mails arrive; each one that was answered with 250 must be in the queue in the end."""
    server, chance, answered = MailServer(place / "mails"), Random(SEED), list[str]()
    for kill in range(1, kills + 1):
        with server.gateway() as child, ThreadPoolExecutor(CLIENTS) as clients:
            for client in range(CLIENTS):
                clients.submit(server.send_until_the_end, f"{kill}-{client}", answered)
            wanted = max(len(answered) + 1, accepted * kill // kills) + chance.randrange(CLIENTS)
            until(lambda wanted=wanted: len(answered) >= wanted, "mails to be accepted")
            child.kill()
    with server.gateway():
        until(lambda: not server.read("SELECT 1 FROM door_requests WHERE state = 'stored'"), "all mails to be queued")
    queued = [text for (text,) in server.read("SELECT message FROM deliveries")]
    return [
        Figure("kills of the gateway", kills),
        Figure("… mails answered with 250", len(answered), "≥", accepted),
        none_of("… of these lost", set(answered) - set(queued)),
        Figure("… queued twice", len(queued) - len(set(queued)), "=", 0),
    ]


class MailServer(GatewayHome):
    """A gateway that takes mail; its messages stay in the queue."""

    def __init__(self, home: Path) -> None:
        self.mail_port = free_port()
        account = {"NTFY_URL": "http://127.0.0.1:9", "DELIVERY_WORKERS": "0"}
        super().__init__(home, SMTP_IN_PORT=str(self.mail_port), **account)
        (home / "profiles.yaml").write_text(PROFILES)
        options = ("--protocol", "mail", "--profile", "oncall", "--rate", "1000000")
        self.token = self.run("doors", "add", "nas", *options)["token"]

    @contextmanager
    def gateway(self, *, kills: bool = False) -> Iterator[Child]:
        with super().gateway(kills=kills) as child:
            until(lambda: self._greets(child), "the greeting")
            yield child

    def send_until_the_end(self, name: str, accepted: list[str]) -> None:
        """Send mails until the connection ends; note the texts of those that were accepted."""
        with suppress(OSError, smtplib.SMTPException), smtplib.SMTP("127.0.0.1", self.mail_port, timeout=60) as client:
            client.login("nas", self.token)
            for n in count():
                client.sendmail("a@x", ["oncall@x"], f"Subject: s\r\n\r\nmail {name}-{n}\r\n")
                accepted.append(f"mail {name}-{n}")

    def _greets(self, child: Child) -> bool:
        child.must_live()
        with suppress(OSError), smtplib.SMTP("127.0.0.1", self.mail_port, timeout=60):
            return True
        return False
