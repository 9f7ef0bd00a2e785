"""An installed Tocsin in a Debian root: its commands, its services, and its REST API as seen from outside."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.install_proof.debian import DebianRoot

START_S = 120


@dataclass
class Installation:
    """A program in a root, run as `user` with `home` as its working directory.

    `program` begins each command line; `data` is the data directory as seen in the root, which belongs to `owner`, by
    default `user`.
    """

    root: DebianRoot
    program: Sequence[str]
    user: str
    home: str
    data: str
    ports: tuple[int, int]
    env: Mapping[str, str] = field(default_factory=dict)
    token: str = ""
    owner: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def data_path(self) -> Path:
        """The data directory as seen from this machine."""
        return self.root / self.data

    def attempt(self, *words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        """Run one command of Tocsin, which may fail."""
        command = self.root.command([*self.program, *words], self.user, self.home, **self.env)
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    def tocsin(self, *words: str, text: str = "") -> str:
        """Return what a command of Tocsin prints; exits with its errors if it fails."""
        done = self.attempt(*words, text=text)
        if done.returncode:
            sys.exit(f"tocsin {' '.join(words)}: exit code {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def write(self, files: Mapping[str, str]) -> None:
        """Write files of the data directory as its owner."""
        script = 'umask 077; mkdir -p "$(dirname "$1")" && cat > "$1"'
        for name, text in files.items():
            self.root.run(["sh", "-ec", script, "sh", f"{self.data}/{name}"], self.owner or self.user, self.home, text)

    def start(self) -> None:
        """Start all services, and return when both ports answer."""
        command = self.root.command([*self.program, "up"], self.user, self.home, **self.env)
        with (self.root / "var/log/tocsin-up.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wait()

    def wait(self) -> None:
        """Return when both ports answer; exits with the log if the services end before."""
        deadline = time.monotonic() + START_S
        for port, path in zip(self.ports, ("/health", "/api/health"), strict=True):
            while self._status(f"http://127.0.0.1:{port}{path}") != 200:
                ended = self.process is not None and self.process.poll() is not None
                if ended or time.monotonic() > deadline:
                    sys.exit(
                        "the services do not answer:\n" + (self.root / "var/log/tocsin-up.log").read_text()[-3000:]
                    )
                time.sleep(0.1)

    def stop(self) -> None:
        """Ask the services to end, as an init system does, and wait for it."""
        if self.process:
            self.process.terminate()
            if code := self.process.wait(60):
                sys.exit(f"the services ended with {code}")
            self.process = None

    def api(self, path: str) -> Any:
        """Return the document of an operation of the REST API; None if it does not exist, or cannot work here."""
        address = f"http://127.0.0.1:{self.ports[1]}{path}"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {self.token}"})  # our own address
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # our own address
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code in {404, 422}:
                return None
            sys.exit(f"GET {path}: {error.code} {error.read()[:500]!r}")

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], *, dashboard: bool = False) -> None:
        """Send a JSON document to the gateway or the dashboard; raises HTTPError if it refuses it."""
        request = urllib.request.Request(  # our own address
            f"http://127.0.0.1:{self.ports[dashboard]}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", **headers},
        )
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310  # our own address

    def _status(self, address: str) -> int:
        try:
            with urllib.request.urlopen(address, timeout=5) as found:  # noqa: S310  # our own address
                return int(found.status)
        except OSError:
            return 0
