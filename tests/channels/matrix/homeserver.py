"""A real homeserver, Synapse, on loopback, with an account for the bot: installed for the proof, not for the tests.

`pip install matrix-synapse` into a virtual environment of its own puts `synapse_homeserver` on the path, or into
`SYNAPSE`.
"""

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.waiting import until

NAME = "matrix.test"
# The limits of an ordinary account, 10 messages at once and one every 5 s, would be all that is measured.
CONFIG = """
server_name: {name}
report_stats: false
signing_key_path: {place}/signing.key
media_store_path: {place}/media
pid_file: {place}/pid
log_config: {place}/log.yaml
suppress_key_server_warning: true
trusted_key_servers: []
enable_registration: true
enable_registration_without_verification: true
database: {{name: sqlite3, args: {{database: {place}/homeserver.db}}}}
listeners:
  - {{port: {port}, type: http, bind_addresses: [127.0.0.1], resources: [{{names: [client]}}]}}
rc_message: {{per_second: 10000, burst_count: 10000}}
rc_registration: {{per_second: 1000, burst_count: 1000}}
rc_login: {{address: {{per_second: 1000, burst_count: 1000}}, account: {{per_second: 1000, burst_count: 1000}}}}
rc_room_creation: {{per_second: 1000, burst_count: 1000}}
rc_joins: {{local: {{per_second: 1000, burst_count: 1000}}}}
"""
LOG = "version: 1\nroot: {level: WARNING}\n"


def program() -> str | None:
    """Return the path of the homeserver, if it is installed."""
    return os.environ.get("SYNAPSE") or shutil.which("synapse_homeserver")


@dataclass(slots=True)
class Homeserver:
    """A running homeserver, and what its API answers."""

    url: str

    def call(self, method: str, path: str, body: Any = None, token: str = "") -> dict[str, Any]:
        """Call the client-server API as a person's client does."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_matrix/client/v3{path}", data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def register(self, name: str, device: str = "D1") -> str:
        """Create an account; return its token."""
        body = {"auth": {"type": "m.login.dummy"}, "username": name, "password": f"{name} pass", "device_id": device}
        return str(self.call("POST", "/register", body)["access_token"])

    def create_room(self, token: str, **options: Any) -> str:
        """Create a room; return its ID."""
        return str(self.call("POST", "/createRoom", options, token)["room_id"])

    def messages(self, token: str, room: str) -> list[dict[str, Any]]:
        """Return all events of a room, oldest first."""
        path = f"/rooms/{urllib.request.quote(room, safe='')}/messages?dir=f&limit=1000"  # type: ignore[attr-defined]
        found: list[dict[str, Any]] = []
        start = ""
        while True:
            page = self.call("GET", f"{path}{start}", token=token)
            found += page["chunk"]
            if "end" not in page or not page["chunk"]:
                return found
            start = f"&from={page['end']}"


@contextmanager
def homeserver(place: Path) -> Iterator[Homeserver]:
    """Run a homeserver in a directory of its own until the end of the block."""
    port = free_port()
    place.mkdir(parents=True, exist_ok=True)
    (place / "homeserver.yaml").write_text(CONFIG.format(name=NAME, place=place, port=port))
    (place / "log.yaml").write_text(LOG)
    command = [str(program()), "-c", str(place / "homeserver.yaml")]
    with (place / "out.log").open("wb") as out:
        subprocess.run([*command, "--generate-keys"], check=True, stdout=out, stderr=out)
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=place)
    server = Homeserver(f"http://127.0.0.1:{port}")

    def answers() -> bool:
        assert process.poll() is None, (place / "out.log").read_text()[-2_000:]
        try:
            with urllib.request.urlopen(f"{server.url}/_matrix/client/versions"):
                return True
        except OSError:
            return False

    try:
        until(answers, "the homeserver answers", within_s=300)
        yield server
    finally:
        process.terminate()
        process.wait()
