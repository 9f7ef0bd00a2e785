"""A real sshd on an unprivileged port, and hosts that lead to it."""

import asyncio
import json
import os
import pwd
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.ports import free_port
from tests.waiting import until

from tocsin.features.ssh.feature import FEATURE
from tocsin.features.ssh.model import SshRequest
from tocsin.features.ssh.service import Ssh
from tocsin.runs.model import HostResult, Run
from tocsin.testing.features import FeatureBench, open_feature

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {host_key}
PidFile {folder}/{name}.pid
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 100
PermitUserRC no
SetEnv HOME={folder}/home
"""


def make_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", path], check=True)
    return path


def fingerprint_of(key: Path) -> str:
    told = subprocess.run(["ssh-keygen", "-lf", f"{key}.pub"], check=True, capture_output=True, text=True).stdout
    return told.split()[1]


@dataclass
class Machine:
    """Servers of one folder, and the keys that they know."""

    folder: Path
    key: Path  # that the servers accept
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """The home directory of the account there: without start files of its shell, which could print something."""
        return self.folder / "home"

    def sshd(self, name: str = "server", more: str = "") -> tuple[int, Path]:
        """Start a server; return its port and its host key."""
        port, host_key = free_port(), make_key(self.folder / f"host-key-{name}")
        self.start_on(port, name, host_key, more)
        return port, host_key

    def start_on(self, port: int, name: str, host_key: Path, more: str = "") -> None:
        config = self.folder / f"{name}.conf"
        config.write_text(_CONFIG.format(port=port, host_key=host_key, folder=self.folder, name=name) + more)
        argv = [*_surroundings(), SSHD, "-D", "-e", "-f", config]
        log = (self.folder / f"{name}.log").open("wb")
        with log:
            server = subprocess.Popen([str(word) for word in argv if word], stderr=log, stdin=subprocess.DEVNULL)
        self.running.append(server)
        _wait_for(server, self.folder / f"{name}.log")

    def stop_all(self) -> None:
        for server in self.running:
            server.terminate()
            server.wait()
        self.running.clear()


def _surroundings() -> list[str]:
    """Return what gives root the empty directory that its sshd wants, without touching /run."""
    if os.geteuid() != 0 or Path("/run/sshd").is_dir():
        return []
    return ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/run", "--dir", "/run/sshd",
            "--die-with-parent"]  # fmt: skip


def _wait_for(server: "subprocess.Popen[bytes]", log: Path) -> None:
    def listens() -> bool:
        if server.poll() is not None:
            pytest.fail(f"sshd did not start: {log.read_text()}")
        return b"Server listening" in log.read_bytes()

    until(listens, "sshd to listen")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    if SSHD is None:
        pytest.skip("sshd is not installed")
    if Path(pwd.getpwuid(os.geteuid()).pw_shell).name in ("nologin", "false"):
        pytest.skip("sshd refuses an account without a login shell")
    folder = tmp_path / "machine"
    (folder / "home").mkdir(parents=True)
    key = make_key(folder / "key")
    (folder / "authorized_keys").write_text(Path(f"{key}.pub").read_text())
    made = Machine(folder, key)
    yield made
    made.stop_all()


@dataclass
class Site:
    """A data directory whose hosts are written as data."""

    bench: FeatureBench
    data_dir: Path

    @property
    def ssh(self) -> Ssh:
        service: Ssh = self.bench.service
        return service

    def write(self, *hosts: dict[str, object], **more: object) -> None:
        (self.data_dir / "ssh_hosts.yaml").write_text(json.dumps({"hosts": list(hosts), **more}))

    async def run(self, command: str, *hosts: str, **changes: object) -> Run:
        request = SshRequest(command, hosts, **changes)  # type: ignore[arg-type]
        return await self.ssh.run(request, source="cli")

    async def on(self, command: str, host: str, **changes: object) -> HostResult:
        """Run a command on one host and return what it did there."""
        return (await self.run(command, host, **changes)).hosts[0]

    async def trust(self, *names: str) -> None:
        for name in names:
            await self.ssh.trust(name, _accept, source="cli")


async def _accept(_: object) -> bool:
    return True


@asynccontextmanager
async def open_site(data_dir: Path, env: dict[str, str] | None = None, **more: object) -> AsyncIterator[Site]:
    data_dir.mkdir(exist_ok=True)
    config = data_dir / "config"
    config.touch()
    environment = {"PATH": os.environ["PATH"], "SSH_CONFIG": str(config), "SSH_KEEP_S": "0", **(env or {})}
    async with open_feature(FEATURE, data_dir, environment, **more) as bench:  # type: ignore[arg-type]
        yield Site(bench, data_dir)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path / "data") as made:
        yield made


@pytest.fixture
def described(machine: Machine) -> Callable[..., dict[str, object]]:
    """Describe a host that leads to a port of this machine."""

    def host(name: str, port: int, **more: object) -> dict[str, object]:
        identity = {"kind": "key", "ref": str(machine.key)}
        return {"name": name, "hostname": "127.0.0.1", "port": port, "identity": identity, **more}

    return host


@asynccontextmanager
async def peer(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]],
) -> AsyncIterator[int]:
    """Listen on a port with a server that is no sshd; at the end its connections are closed."""
    serving: set[asyncio.Task[None]] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            serving.add(task)
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)


@pytest.fixture
def bench(site: Site) -> FeatureBench:
    return site.bench
