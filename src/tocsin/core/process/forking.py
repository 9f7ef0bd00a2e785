"""Forked reapers: starting Python takes ten times as long as starting the command that it supervises.

One process of `reaper.py` waits at a socket and forks a reaper for each order. It ends with this process, and
everything that its reapers supervise ends with it, whatever the cause.
"""

import asyncio
import errno
import marshal
import os
import socket
import sys
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import NamedTuple

_SERVER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py")), "--serve")
_ANSWER_BYTES = 64
_ENDS_WITHIN_S = 2.0
_FULL_S = 0.002  # the wait before an order is sent again to a busy server
# A longer order may not fit into the socket, and exec(2) may reject the command; a started reaper reports that.
_MAX_ORDER_BYTES = 150_000
_WORD_BYTES, _CHAR_BYTES = 5, 4  # per word besides its characters, and per character, at most


class _Forked(NamedTuple):
    pid: int
    ended: "asyncio.Future[int]"  # the wait status


class ReaperServer:
    """Forks reapers; its process starts with the first one, and again if it was killed."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process: asyncio.SubprocessTransport | None = None
        self._gone = asyncio.Event()
        self._starting = asyncio.Lock()
        self._offering = asyncio.Lock()  # one at a time: hundreds of retries would block the event loop
        self._count = 0
        self._asked: dict[int, asyncio.Future[_Forked]] = {}
        self._at_work: dict[int, asyncio.Future[int]] = {}

    async def start(
        self,
        child: asyncio.SubprocessProtocol,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | None,
        *,
        is_fed: bool,
    ) -> "ForkedTransport":
        """Start a command below a reaper, as `loop.subprocess_exec` does; raise OSError.

        Without `is_fed`, standard input is `/dev/null`.
        """
        opened: list[int] = []
        try:
            place = [] if cwd is None else [_directory(cwd)]
            opened += place
            (out, stdout), (err, stderr) = _pipe(opened), _pipe(opened)
            stdin, feed = _pipe(opened) if is_fed else (_nothing(opened), None)
            forked = await self._ask(_order(argv, env), [stdin, stdout, stderr, *place])
            ours = {number: end for number, end in enumerate((feed, out, err)) if end is not None}
            for descriptor in ours.values():
                opened.remove(descriptor)  # now owned by the transport
        finally:
            for descriptor in opened:
                os.close(descriptor)
        transport = ForkedTransport(child, forked.pid, ours)
        child.connection_made(transport)
        await transport.connect()
        forked.ended.add_done_callback(lambda ended: transport.exited(ended.result()))
        return transport

    async def aclose(self) -> None:
        """End the server, and with it its remaining reapers."""
        self._lost()
        if self._process is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ENDS_WITHIN_S):
                    await self._gone.wait()
            self._process.close()

    async def _ask(self, order: bytes, descriptors: list[int]) -> _Forked:
        async with self._starting:
            if self._socket is None:
                self._socket = await self._launch()
        self._count += 1
        number, rights = self._count, [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))]
        asked: asyncio.Future[_Forked] = asyncio.get_running_loop().create_future()
        self._asked[number] = asked
        try:
            async with self._offering:
                await self._offer([b"%010d" % number, order], rights, asked)
            return await asked
        finally:
            self._asked.pop(number, None)

    async def _offer(
        self, message: list[bytes], rights: list[tuple[int, int, "array[int]"]], asked: "asyncio.Future[_Forked]"
    ) -> None:
        """Send an order, unless its server has ended and the order has failed: the next server would run it."""
        while self._socket is not None and not asked.done():
            try:
                self._socket.sendmsg(message, rights)
                return
            except OSError as error:
                if error.errno not in {errno.EAGAIN, errno.ETOOMANYREFS, errno.ENOBUFS}:
                    raise
                await asyncio.sleep(_FULL_S)

    async def _launch(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        loop = asyncio.get_running_loop()
        if self._process is not None:
            self._process.close()
        self._gone = gone = asyncio.Event()
        with theirs:
            self._process, _ = await loop.subprocess_exec(
                lambda: _Server(gone),
                *_SERVER,
                stdin=theirs.fileno(),
                stdout=None,
                stderr=None,
                env={},
                start_new_session=True,
            )
        ours.setblocking(False)
        loop.add_reader(ours.fileno(), self._read, ours)
        return ours

    def _read(self, ours: socket.socket) -> None:
        try:
            while answer := ours.recv(_ANSWER_BYTES):
                self._take(*answer.split())
        except BlockingIOError:
            return
        except OSError:
            pass
        self._lost()

    def _take(self, what: bytes, which: bytes, value: bytes) -> None:
        if what == b"ended":
            self._at_work.pop(int(which)).set_result(int(value))
            return
        asked = self._asked.pop(int(which), None)
        if what == b"failed":
            if asked and not asked.done():
                asked.set_exception(OSError(int(value), os.strerror(int(value))))
            return
        ended = self._at_work[int(value)] = asyncio.get_running_loop().create_future()
        if asked and not asked.done():
            asked.set_result(_Forked(int(value), ended))

    def _lost(self) -> None:
        """Treat all as killed: the reapers of a server that ends kill what they supervise."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()
        self._socket = None
        for ended in self._at_work.values():
            ended.set_result(SIGKILL)
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(OSError(errno.ECHILD, "the process that starts commands was killed"))
        self._at_work.clear()
        self._asked.clear()


class _Server(asyncio.SubprocessProtocol):
    def __init__(self, gone: asyncio.Event) -> None:
        self._gone = gone

    def process_exited(self) -> None:
        self._gone.set()


class ForkedTransport(asyncio.SubprocessTransport):
    """The pipes and the end of a forked child, with the interface of `loop.subprocess_exec`."""

    def __init__(self, child: asyncio.SubprocessProtocol, pid: int, ends: Mapping[int, int]) -> None:
        """Store our ends of the pipes, by descriptor of the child."""
        super().__init__()
        self._child = child
        self._pid = pid
        self._code: int | None = None
        self._pipes: dict[int, asyncio.BaseTransport] = {}
        self._ends = ends
        self._open = set(ends)

    async def connect(self) -> None:
        """Connect our ends of its pipes."""
        loop = asyncio.get_running_loop()
        for number, descriptor in self._ends.items():
            pipe = partial(_Pipe, self, number)
            # asyncio closes the file. uvloop closes the descriptor, and then the file: a second close of the number,
            # which may be that of a database by now, opened by another thread.
            file = os.fdopen(descriptor, "rb" if number else "wb", 0, closefd=isinstance(loop, asyncio.BaseEventLoop))
            connect = loop.connect_read_pipe if number else loop.connect_write_pipe
            self._pipes[number], _ = await connect(pipe, file)

    def get_pid(self) -> int:
        return self._pid

    def get_returncode(self) -> int | None:
        """Return its exit status, `None` while it runs."""
        return self._code

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self._pipes.get(fd)

    def close(self) -> None:
        for pipe in self._pipes.values():
            pipe.close()

    def exited(self, status: int) -> None:
        self._code = os.waitstatus_to_exitcode(status)
        self._child.process_exited()
        self._end()

    def received(self, number: int, data: bytes) -> None:
        """Pass on its output."""
        self._child.pipe_data_received(number, data)

    def closed(self, number: int) -> None:
        self._open.discard(number)
        self._end()

    def _end(self) -> None:
        if self._code is not None and not self._open:
            self._child.connection_lost(None)


class _Pipe(asyncio.Protocol):
    def __init__(self, transport: ForkedTransport, number: int) -> None:
        self._transport = transport
        self._number = number

    def data_received(self, data: bytes) -> None:
        self._transport.received(self._number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport.closed(self._number)


_SHARED: ContextVar[ReaperServer | None] = ContextVar("reaper_server", default=None)


@asynccontextmanager
async def forked_reapers() -> AsyncIterator[None]:
    """Fork the reapers of all commands that are started within the block, also by tasks created there."""
    server = ReaperServer()
    _SHARED.set(server)
    try:
        yield
    finally:
        _SHARED.set(None)
        await server.aclose()


def shared_server(argv: Sequence[str], env: Mapping[str, str] | None) -> ReaperServer | None:
    """Return the server that forks a command's reaper here, or `None` if a new process is started for it."""
    server = _SHARED.get()
    if server is None or env is None:
        return None
    chars = sum(map(len, argv)) + sum(map(len, env)) + sum(map(len, env.values()))
    bytes_at_most = _CHAR_BYTES * chars + _WORD_BYTES * (len(argv) + 2 * len(env))
    return server if bytes_at_most <= _MAX_ORDER_BYTES else None


def _pipe(opened: list[int]) -> tuple[int, int]:
    pair = os.pipe()
    opened += pair
    return pair


def _nothing(opened: list[int]) -> int:
    opened.append(descriptor := os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    return descriptor


def _directory(path: Path) -> int:
    descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if not os.access(path, os.X_OK):
        os.close(descriptor)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return descriptor


def _order(argv: Sequence[str], env: Mapping[str, str]) -> bytes:
    """Return the order for a command and its variables in the server's format, with a single C call."""
    variables = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    return marshal.dumps(([os.fsencode(word) for word in argv], variables))
