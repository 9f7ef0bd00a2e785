"""Several real servers that belong together: a master with replicas and Sentinels, and a cluster of masters."""

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.ports import free_port
from tests.waiting import PATIENCE_S, until

SERVICE = "tocsin-test"
EMPTY = '""'
UNSAVED = {"appendonly": "no", "save": ""}
DURABLE = {"appendonly": "yes", "appendfsync": "always", "save": ""}


class RedisNode:
    """A redis-server, or a Sentinel, on a TCP port of the loopback interface."""

    def __init__(self, directory: Path, settings: Mapping[str, str], *arguments: str, program: str = "") -> None:
        self.port = free_port()
        self.directory = directory / str(self.port)
        self.directory.mkdir()
        found = shutil.which(program or "redis-server")
        assert found, "these tests need redis-server (Debian: apt-get install redis-server)"
        lines = {"port": str(self.port), "bind": "127.0.0.1", "dir": str(self.directory), **settings}
        config = self.directory / "redis.conf"
        config.write_text("".join(f"{name} {value or EMPTY}\n" for name, value in lines.items()))
        self._argv = [found, str(config), *arguments]
        self.start()

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(self._argv, stdout=log, stderr=log)
        until(self.answers, (self.directory / "log").read_text)

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self) -> None:
        if self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()

    def answers(self) -> bool:
        try:
            return self.ask("PING") == "PONG"
        except OSError:
            return False

    def ask(self, *words: str | int) -> Any:
        """Run one command on a connection of its own; errors come as text."""
        raw = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in (str(word).encode() for word in words))
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as connection:
            connection.sendall(b"*%d\r\n" % len(words) + raw)
            with connection.makefile("rb") as stream:
                return _answer(stream)


def _answer(stream: Any) -> Any:
    line = stream.readline().rstrip().decode()
    kind, rest = line[:1], line[1:]
    if kind == "$":
        return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode(errors="replace")
    if kind == "*":
        return [_answer(stream) for _ in range(int(rest))]
    return int(rest) if kind == ":" else rest


class SentinelSetup:
    """A master, its replicas, and three Sentinels that agree within a second that it is gone."""

    def __init__(self, nodes: Sequence[RedisNode], sentinels: Sequence[RedisNode]) -> None:
        self.nodes = nodes
        self.sentinels = sentinels
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in sentinels)
        self.url = f"redis+sentinel://{hosts}/{SERVICE}/0"

    def master(self) -> RedisNode:
        """Return the master, as the first Sentinel knows it."""
        _, port = self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return next(node for node in self.nodes if node.port == int(port))

    def replicas(self) -> list[RedisNode]:
        """Return the others."""
        master = self.master()
        return [node for node in self.nodes if node is not master]


@contextmanager
def sentinel_setup(replicas: int = 2, *, gone_after_ms: int = 1000, saved: bool = True) -> Iterator[SentinelSetup]:
    """Run a master with replicas under three Sentinels; returns when all know each other."""
    with TemporaryDirectory(prefix="redis-") as name, ExitStack() as stack:
        directory = Path(name)
        quick = {**(DURABLE if saved else UNSAVED), "repl-diskless-sync-delay": "0", "repl-ping-replica-period": "1"}
        master = _running(stack, RedisNode(directory, quick))
        follow = {**quick, "replicaof": f"127.0.0.1 {master.port}"}
        others = [_running(stack, RedisNode(directory, follow)) for _ in range(replicas)]
        until(lambda: f"connected_slaves:{replicas}" in master.ask("INFO", "replication"))
        until(lambda: all("master_link_status:up" in other.ask("INFO", "replication") for other in others))
        watch = f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 2"
        rules = ("down-after-milliseconds", str(gone_after_ms)), ("failover-timeout", "3000"), ("parallel-syncs", "2")
        sentinels = [_running(stack, _sentinel(directory, watch, rules)) for _ in range(3)]
        until(lambda: all(_knows(sentinel, replicas) for sentinel in sentinels))
        yield SentinelSetup([master, *others], sentinels)


def _sentinel(directory: Path, watch: str, rules: Sequence[tuple[str, str]]) -> RedisNode:
    lines = [f"{name} {SERVICE} {value}" for name, value in rules]
    settings = dict(line.split(" ", 1) for line in (watch,))
    text = "\nsentinel ".join([settings["sentinel"], *lines])
    return RedisNode(directory, {"sentinel": text}, "--sentinel")


def _knows(sentinel: RedisNode, replicas: int) -> bool:
    [told] = sentinel.ask("SENTINEL", "MASTERS")
    facts = dict(zip(told[::2], told[1::2], strict=True))
    return facts["num-slaves"] == str(replicas) and facts["num-other-sentinels"] == "2" and facts["flags"] == "master"


class ClusterSetup:
    """Masters that share the slots of a cluster, and their replicas."""

    def __init__(self, nodes: Sequence[RedisNode], replicas: Sequence[RedisNode] = ()) -> None:
        self.nodes = nodes
        self.replicas = replicas
        self.hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        self.url = f"redis+cluster://{self.hosts}"

    def url_of_user(self, name: str, *rules: str) -> str:
        """Let there be a user on every server; return the address with it."""
        for node in self.nodes:
            assert node.ask("ACL", "SETUSER", name, "reset", "on", ">made-up", *rules) == "OK"
        return f"redis+cluster://{name}:made-up@{self.hosts}"


@contextmanager
def cluster_setup(
    masters: int = 3, program: str = "", *, replicated: bool = False, gone_after_ms: int = 2000, saved: bool = True
) -> Iterator[ClusterSetup]:
    """Run a cluster, each master with a replica if wanted; returns when every server says that it works."""
    rules = {**(DURABLE if saved else UNSAVED), "cluster-enabled": "yes", "cluster-node-timeout": str(gone_after_ms)}
    with TemporaryDirectory(prefix="redis-") as name, ExitStack() as stack:
        nodes = [_running(stack, _member(Path(name), rules, program)) for _ in range(masters)]
        share = -(-16384 // masters)
        for at, node in enumerate(nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", at + 1)
            node.ask("CLUSTER", "ADDSLOTSRANGE", at * share, min(16383, (at + 1) * share - 1))
            node.ask("CLUSTER", "MEET", "127.0.0.1", node.port, _bus(node))
        for node in nodes[1:]:
            nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port, _bus(node))
        until(lambda: all("cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in nodes))
        until(lambda: all(len(node.ask("CLUSTER", "SLOTS")) == masters for node in nodes))
        others = [_running(stack, _member(Path(name), rules, program)) for _ in range(masters if replicated else 0)]
        for node, other in zip(nodes, others, strict=False):
            _follow(other, node)
        yield ClusterSetup(nodes, others)


def _follow(replica: RedisNode, master: RedisNode) -> None:
    replica.ask("CLUSTER", "MEET", "127.0.0.1", master.port, _bus(master))
    name = master.ask("CLUSTER", "MYID")
    until(lambda: replica.ask("CLUSTER", "REPLICATE", name) == "OK")
    until(lambda: "master_link_status:up" in replica.ask("INFO", "replication"))


def _member(directory: Path, rules: Mapping[str, str], program: str) -> RedisNode:
    return RedisNode(directory, {**rules, "cluster-port": str(free_port())}, program=program)


def _bus(node: RedisNode) -> int:
    _, port = node.ask("CONFIG", "GET", "cluster-port")
    return int(port)


def _running(stack: ExitStack, node: RedisNode) -> RedisNode:
    stack.callback(node.stop)
    return node
