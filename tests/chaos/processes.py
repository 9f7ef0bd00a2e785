"""The processes of the chaos suite: started by us, ended by their id, in a directory of their own."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.ports import free_port
from tests.quick_start import TOCSIN, starter
from tests.waiting import until

HERE = Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")
# Everything is waited for by looking again. The longest at full size: 6,000 events are worked off.
PATIENCE_S = 600.0
LOOK_S = 0.02

T = TypeVar("T")


class ChaosError(AssertionError):
    """Something that must happen did not happen in time, or a process that must live has ended."""


def wait_for(what: str, look: Callable[[], T | None], *, every_s: float = LOOK_S) -> T:
    """Look again and again until `look` returns something true; return that."""
    try:
        return until(look, what, within_s=PATIENCE_S, every_s=every_s)
    except AssertionError as error:
        raise ChaosError(str(error)) from None


class Child:
    """One process with its log."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        log: Path,
        env: Mapping[str, str],
        *,
        pipes: bool = False,
        quick: bool = True,
        cwd: Path,
    ) -> None:
        self.log = log
        pipe = subprocess.PIPE if pipes else subprocess.DEVNULL
        start = starter(env) if quick and argv[0] == TOCSIN else subprocess.Popen
        with log.open("ab") as out:
            self.process = start(
                [str(word) for word in argv], stdin=pipe, stdout=pipe if pipes else out, stderr=out, env=env, cwd=cwd
            )
        self.pid = self.process.pid
        self.ended: Callable[[], None] = lambda: None

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def must_live(self) -> None:
        """Raise with the end of its log when it has ended."""
        if not self.alive:
            raise ChaosError(f"it ended with {self.process.returncode}: {self.tail()}")

    def first_line(self) -> str:
        """Return what it tells on standard output when it is ready."""
        assert self.process.stdout is not None
        line: bytes = self.process.stdout.readline()
        if not line:
            raise ChaosError(f"it exited immediately: {self.tail()}")
        return line.decode()

    def kill(self) -> None:
        """End it as a crash does; returns when it is gone."""
        self.signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self.ended()

    def stop(self) -> None:
        """Ask it to end; one that does not is killed."""
        if self.alive:
            with suppress(ProcessLookupError):
                self.signal(signal.SIGCONT)
                self.signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE_S / 10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.ended()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def cpu_s(self) -> float:
        """Return the processor seconds it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def tail(self) -> str:
        """Return the end of its log."""
        return self.log.read_text(errors="replace")[-2000:]


class Town:
    """A directory, a recording provider, and the processes of Tocsin that a scenario starts.

    `settings` are environment variables for all of Tocsin's processes. Without `quick`, each of these is a new
    interpreter: the memory of a fork is not that of a service.
    """

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None, *, quick: bool = True) -> None:
        self.quick = quick
        self.directory = directory
        self.data_dir = directory / "data"
        self.port = free_port()
        self.gateway: Child | None = None
        self._provider: Provider | None = None
        self.workers: list[Child] = []
        self._stack = ExitStack()
        self._started = 0
        self.environment = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        self.environment |= {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(directory / "site"),
            "TOCSIN_DATA_DIR": str(self.data_dir),
            "GATEWAY_PORT": str(self.port),
            "RATE_LIMIT_PER_IP": "1000000000",
            "LOG_LEVEL": "warning",
            # Not the Redis of this machine: whatever is published there is none of our business.
            "REDIS_URL": f"unix://{directory}/no-redis.sock",
            **(settings or {}),
        }

    def __enter__(self) -> Self:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        install_channels(self.directory / "site")
        self._provider = Provider(self._start([sys.executable, HERE / "provider.py"], "provider", pipes=True))
        for kind in ("CHAOSCHAT", "NONCECHAT"):
            self.environment |= {f"{kind}_URL": self._provider.url, f"{kind}_TOKEN": "made-up"}
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def provider(self) -> "Provider":
        """The recording provider."""
        assert self._provider is not None
        return self._provider

    def start_gateway(self, **settings: str) -> Child:
        """Start the gateway, and return when it answers."""
        self.gateway = child = self._start([TOCSIN, "gateway"], "gateway", settings)
        self.wait_until_healthy()
        return child

    def wait_until_healthy(self) -> None:
        """Return when the gateway answers `ok`."""
        gateway = self.gateway
        assert gateway is not None

        def look() -> bool:
            gateway.must_live()
            return self.health() == 200

        wait_for("the gateway is healthy", look)

    def health(self) -> int:
        """Return the status of GET /health, 0 for no answer."""
        with suppress(OSError, http.client.HTTPException):
            return self.ask("GET", "/health")[0]
        return 0

    def start_worker(self, **settings: str) -> Child:
        """Start a worker; it takes part as soon as it can."""
        child = self._start([TOCSIN, "worker"], f"worker-{self._started}", settings)
        self.workers.append(child)
        return child

    def end_worker(self, child: Child, *, kill: bool) -> None:
        """End a worker, by force or by asking."""
        self.workers.remove(child)
        if kill:
            child.kill()
        else:
            child.stop()

    def run(self, argv: Sequence[str | Path], name: str, *, pipes: bool = False) -> Child:
        """Start something else that ends with this town."""
        return self._start(argv, name, pipes=pipes)

    def start_host(self, argv: Sequence[str | Path], name: str, settings: Mapping[str, str]) -> Child:
        """Start a process with settings of its own, such as another data directory; it ends with this town."""
        return self._start(argv, name, settings)

    def ask(
        self, method: str, path: str, document: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Make one request to the gateway; return status and JSON."""
        return ask(self.port, method, path, document, headers or {})

    def send(self, channel: str, target: str, text: str, **fields: str) -> str:
        """Queue one message; return the id of its delivery."""
        body = {"channel": channel, "target": target, "message": text, **fields}
        status, answer = self.ask("POST", "/send", body, {"Prefer": "respond-async"})
        if status != 202:
            raise ChaosError(f"POST /send answered {status}: {answer}")
        return str(answer["id"])

    def delivery(self, id_: str) -> dict[str, Any]:
        """Return one delivery as the gateway shows it."""
        _, document = self.ask("GET", f"/deliveries/{id_}")
        assert isinstance(document, dict)
        return document

    def wait_until(self, id_: str, *statuses: str) -> dict[str, Any]:
        """Return a delivery once it has one of these states."""

        def look() -> dict[str, Any] | None:
            found = self.delivery(id_)
            return found if found["status"] in statuses else None

        return wait_for(f"delivery {id_} is {' or '.join(statuses)}", look, every_s=0.05)

    def _start(
        self, argv: Sequence[str | Path], name: str, settings: Mapping[str, str] | None = None, *, pipes: bool = False
    ) -> Child:
        self._started += 1
        env = {**self.environment, **(settings or {})}
        child = Child(argv, self.directory / f"{name}.log", env, pipes=pipes, quick=self.quick, cwd=self.directory)
        self._stack.callback(child.stop)
        if self._provider is not None:
            self._provider.guard(child)
        return child


class Provider:
    """The recording provider, from outside."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.port = int(child.first_line())
        self.url = f"http://127.0.0.1:{self.port}"

    def guard(self, child: Child) -> None:
        """Have a process ended when the suite is gone."""
        self._tell(child.pid)
        child.ended = lambda: self._tell(-child.pid)

    def _tell(self, number: int) -> None:
        pipe = self.child.process.stdin
        assert pipe is not None
        with suppress(BrokenPipeError, ValueError):
            pipe.write(b"%d\n" % number)
            pipe.flush()

    def set_delay(self, seconds: float) -> None:
        """Answer so late from now on."""
        ask(self.port, "POST", "/delay", seconds, {})

    def rows(self, after: int = 0) -> list["Row"]:
        """Return what it has recorded."""
        _, document = ask(self.port, "GET", f"/rows?after={after}", None, {})
        return [Row(*row) for row in document["rows"]]

    def overlaps(self) -> int:
        """Return how often a target had two messages in flight."""
        _, document = ask(self.port, "GET", "/rows?after=1000000000", None, {})
        return int(document["overlaps"])


class Row:
    """One request that the provider got."""

    __slots__ = ("at", "channel", "fault", "id", "taken", "target", "told_s")

    def __init__(self, at: float, id: str, target: str, channel: str, fault: str, taken: int, told_s: float) -> None:
        self.at, self.id, self.target, self.channel = at, id, target, channel
        self.fault, self.taken, self.told_s = fault, bool(taken), told_s


def ask(port: int, method: str, path: str, document: object, headers: Mapping[str, str]) -> tuple[int, Any]:
    """Make one request on a connection of its own; return status and JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        body = None if document is None else json.dumps(document)
        connection.request(method, path, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        raw = answer.read()
        return answer.status, json.loads(raw) if raw else None
    finally:
        connection.close()


def install_channels(site: Path) -> None:
    """Leave behind what an installer does: the module and its entry points."""
    info = site / "chaoschat-1.0.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "chaoschat.py", site / "tocsin_chaoschat.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chaoschat\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text(
        "[tocsin.channels]\nchaoschat = tocsin_chaoschat:ChaoschatAdapter\n"
        "noncechat = tocsin_chaoschat:NoncechatAdapter\n"
    )


class Redis:
    """A redis-server of our own on a Unix socket, with a log on disk written before each answer."""

    def __init__(self, town: Town, directory: Path, **settings: str) -> None:
        self._town = town
        self.directory = directory
        self.socket = directory / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._settings = {
            "port": "0", "unixsocket": str(self.socket), "dir": str(directory), "save": "",
            "appendonly": "yes", "appendfsync": "always", **settings,
        }  # fmt: skip
        self.child: Child

    def start(self) -> None:
        """Start it, and return when it answers."""
        program = shutil.which("redis-server")
        if program is None:
            raise ChaosError("the chaos suite needs redis-server (Debian: apt-get install redis-server)")
        config = self.directory / "redis.conf"
        config.write_text("".join(f'{name} "{value}"\n' for name, value in self._settings.items()))
        self.child = self._town.run([program, config], "redis")
        wait_for("redis-server answers", self.answers)

    def answers(self) -> bool:
        """Whether it answers PING; it does not while it reads its data."""
        try:
            return bool(self.ask("PING") == b"PONG")
        except (OSError, ChaosError):
            return False

    def ask(self, *words: str) -> Any:
        """Run one command on a connection of its own; return its answer, errors as ChaosError."""
        return self.ask_many([words])[0]

    def ask_many(self, commands: Iterable[Sequence[str]]) -> list[Any]:
        """Run commands on one connection; return their answers."""
        raw = [_command(words) for words in commands]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(str(self.socket))
            connection.sendall(b"".join(raw))
            with connection.makefile("rb") as stream:
                return [_resp(stream) for _ in raw]

    def restart(self) -> None:
        """Kill it and start it anew on what it has on disk."""
        self.child.kill()
        self.start()


def _command(words: Sequence[str]) -> bytes:
    encoded = [word.encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


def _resp(stream: Any) -> Any:
    line = stream.readline().rstrip(b"\r\n")
    kind, rest = line[:1], line[1:]
    if kind == b"+":
        return rest
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [_resp(stream) for _ in range(int(rest))]
    if not line:
        raise ConnectionResetError("redis-server has closed the connection")
    raise ChaosError(line.decode(errors="replace"))


@contextmanager
def open_town(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[Town]:
    """Run a town for as long as the block lasts."""
    with Town(directory, settings) as town:
        yield town
