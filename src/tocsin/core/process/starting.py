"""Child processes; only this package starts them.

Every child leads its own process group. When the child ends, times out, or is no longer awaited, the whole group is
killed. Commands of users are also supervised: on Linux, a small program between them and us (`reaper`) also kills
processes that left the group, so that none remain.
"""

import asyncio
import errno
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tocsin.core.errors import ProcessError
from tocsin.core.process.forking import shared_server
from tocsin.core.process.tree import list_tree
from tocsin.core.tasks import to_the_end

# Output of a child beyond 1 MiB is discarded: that is far above any error text.
MAX_OUTPUT_BYTES = 1024 * 1024
# After the group is killed, only a child stuck in the kernel, or one that left the group, keeps pipes open.
_GRACE_S = 1.0
_LOOK_S = 0.02
# Whether descendants that call `setsid` are also killed.
SUPERVISES = sys.platform == "linux"
_REAPER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py")))
# A child with more output in a moment is paused, so that it does not block this process.
_BURST_BYTES, _MOMENT_S = 4 * 1024 * 1024, 0.1


class ProcessTimeoutError(ProcessError):
    """A child process did not end in time and was killed; its effects are unknown."""

    code = "process-timeout"


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a child process; a negative exit code is the signal that killed it."""

    exit_code: int
    stdout: str
    stderr: str


async def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Finished:
    """Run `argv` without a shell and return its result.

    Does not wait for descendants of the program. Raises ProcessTimeoutError after `timeout_s`, and ProcessError if the
    program cannot be started.
    """
    data = stdin.encode()
    child = _Collector()
    await _start(child, argv, env, cwd)
    try:
        child.feed(data)
        async with asyncio.timeout(timeout_s):
            await child.exited.wait()
    except TimeoutError:
        raise ProcessTimeoutError(f"{argv[0]} did not finish within {timeout_s:g} s and was stopped") from None
    finally:
        await to_the_end(child.end())
    return child.finished()


@asynccontextmanager
async def streaming(
    argv: Sequence[str],
    on_output: Callable[[str, bytes], None],
    *,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    wrapped: bool = False,
    supervised: bool = False,
    attach: Callable[[int], Coroutine[Any, Any, None]] | None = None,
) -> AsyncIterator["Child"]:
    """Run `argv` during the block, and kill the rest of its group at the end.

    `on_output` gets the output as it arrives: `stdout` or `stderr`, and bytes. With `wrapped`, argv[0] only wraps the
    program and would end it too early: `stop` signals its descendants instead. With `supervised`, descendants that left
    the group are also killed, if `SUPERVISES`. `attach` gets the process ID of the child; when it has returned, the
    child reads a line end before `stdin`. Raises ProcessError.
    """
    data = stdin.encode(errors="replace")
    supervised = supervised and SUPERVISES
    if supervised:
        _refuse_what_is_not_there(argv[0], os.defpath if env is None else env.get("PATH", os.defpath))
    child = Child(on_output, wrapped=wrapped or supervised, supervised=supervised)
    if supervised and env is not None and (server := shared_server(argv, env)):
        await _enter(server.start(child, argv, env, cwd, is_fed=bool(data)), child, argv, env, cwd)
    else:
        await _start(child, argv, env, cwd, before=(*_REAPER, str(os.getpid())) if supervised else ())
    try:
        if attach is not None:
            await _first(attach(child.pid), child.exited.wait())
            data = b"\n" + data
        child.feed(data)
        yield child
    finally:
        await to_the_end(child.end())


@asynccontextmanager
async def running(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> AsyncIterator[None]:
    """Keep `argv` running during the block; kill it and its descendants at the end.

    Raises ProcessError if it cannot be started.
    """
    child = _Collector()
    await _start(child, argv, env, None)
    try:
        yield
    finally:
        await to_the_end(child.end())


def _refuse_what_is_not_there(program: str, path: str) -> None:
    """Raise ProcessError for a missing program, which the reaper could only report by an exit code."""
    if shutil.which(program, path=path) is None:
        there = "/" in program and os.path.exists(program)  # noqa: PTH110  # Path.exists may raise
        reason = errno.EACCES if there else errno.ENOENT
        raise ProcessError(f"{program} could not be started: {os.strerror(reason)}")


def kill_below(pid: int) -> None:
    """Kill every process that descends from `pid` or is in its session, but not `pid` itself."""
    for process in list_tree(pid):
        if process.pid != pid:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


async def kill_tree(pid: int) -> None:
    """Kill the descendants of `pid`, then its group: a reaper that dies before its children loses them."""
    deadline = asyncio.get_running_loop().time() + _GRACE_S
    while any(process.pid != pid for process in list_tree(pid)) and asyncio.get_running_loop().time() < deadline:
        kill_below(pid)
        await asyncio.sleep(_LOOK_S)
    kill_group(pid)


def kill_group(pid: int) -> None:
    """Kill every process in the group that `pid` leads, if any."""
    # No such group, or on macOS a group of dead members only: nothing to do.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


async def _start(
    child: "_Process", argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None, before: Sequence[str] = ()
) -> None:
    loop = asyncio.get_running_loop()
    start = loop.subprocess_exec(lambda: child, *before, *argv, env=env, cwd=cwd, start_new_session=True)
    await _enter(start, child, argv, env, cwd)


async def _enter(
    start: Coroutine[Any, Any, object],
    child: "_Process",
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: Path | None,
) -> None:
    """Wait for the start of a child to finish."""
    program = argv[0]
    if any("\0" in word for word in (*argv, *(env or {}), *(env or {}).values())):
        start.close()
        # asyncio rejects it, uvloop truncates the word there: the program would get a wrong argument.
        raise ProcessError(f"{program} could not be started: an argument or variable contains a NUL character")
    starting = asyncio.ensure_future(start)
    try:
        # Shielded: after a cancellation, the program may already run, and would not be ended.
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await to_the_end(_abandon(starting, child))
        raise
    except (OSError, ValueError) as error:
        raise _not_started(program, cwd, error, env or {}) from None


def _not_started(program: str, cwd: Path | None, error: OSError | ValueError, env: Mapping[str, str]) -> ProcessError:
    """Return the error to raise; the system reports a missing folder like a missing program."""
    if not isinstance(error, OSError):
        return ProcessError(f"{program} could not be started: {error}")
    if cwd is not None and not os.access(cwd / ".", os.X_OK):
        sentence = f"{program} could not be started in {cwd}: {error.strerror}"
        return ProcessError(sentence, hint="create that working directory, or name another one")
    if error.errno != errno.E2BIG:
        return ProcessError(f"{program} could not be started: {error.strerror}")
    sizes = sorted(((len(value.encode(errors="replace")) // 1024, name) for name, value in env.items()), reverse=True)
    largest = ", ".join(f"{name} {size} KiB" for size, name in sizes[:3])
    said = f"its environment has {sum((size for size, _ in sizes)):,} KiB; the largest variables are {largest}"
    hint = "pass long values in a file or on standard input"
    return ProcessError(f"{program} could not be started: {error.strerror}; {said}", hint=hint)


async def _first(*works: Coroutine[Any, Any, object]) -> None:
    """Run awaitables concurrently until one of them is done; raise its exception."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _abandon(starting: Awaitable[object], child: "_Process") -> None:
    with suppress(OSError, ValueError):
        await starting
        await child.end()


class _Process(asyncio.SubprocessProtocol):
    """A child process, with its end and its termination.

    Not asyncio's own streams: they wait for all processes that inherited the child's pipes.
    """

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self._closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()

    def feed(self, data: bytes) -> None:
        """Send `data` to the child as far as it reads; a child that has ended, or never reads, is no error."""
        pipe = cast(asyncio.WriteTransport | None, self._transport.get_pipe_transport(0))
        if pipe is not None and not pipe.is_closing():
            pipe.write(data)
            pipe.close()

    def exit_code(self) -> int:
        """Return the exit code of the child; one that could not be awaited counts as killed."""
        code = self._transport.get_returncode()
        return -signal.SIGKILL if code is None else code

    async def end(self) -> None:
        """Kill the rest of the group, and wait until the child is reaped and its output is read."""
        kill_group(self.pid)
        try:
            async with asyncio.timeout(_GRACE_S):
                await self.exited.wait()
                await self._closed.wait()
        except TimeoutError:
            return
        finally:
            self._transport.close()


class _Collector(_Process):
    """Collects the beginning of its child's output."""

    def __init__(self) -> None:
        super().__init__()
        self._output = {1: bytearray(), 2: bytearray()}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self._output[fd]
        kept += data[: MAX_OUTPUT_BYTES - len(kept)]

    def finished(self) -> Finished:
        stdout, stderr = (self._output[fd].decode(errors="replace") for fd in (1, 2))
        return Finished(self.exit_code(), stdout, stderr)


class Child(_Process):
    """A running child process, whose output is passed on; `pid` is also the ID of its group and of its session."""

    def __init__(self, on_output: Callable[[str, bytes], None], *, wrapped: bool, supervised: bool) -> None:
        super().__init__()
        self._on_output = on_output
        self._wrapped = wrapped
        self._supervised = supervised
        self._timer: asyncio.TimerHandle | None = None
        self._burst = 0
        self._moment: asyncio.TimerHandle | None = None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_output("stdout" if fd == 1 else "stderr", data)
        self._burst += len(data)
        if self._moment is None:
            self._moment = asyncio.get_running_loop().call_later(_MOMENT_S, self._read_on)
        if self._burst > _BURST_BYTES:
            for pipe in self._output_pipes():
                pipe.pause_reading()

    def _read_on(self) -> None:
        self._burst, self._moment = 0, None
        for pipe in self._output_pipes():
            pipe.resume_reading()

    def _output_pipes(self) -> list[asyncio.ReadTransport]:
        pipes = [cast(asyncio.ReadTransport | None, self._transport.get_pipe_transport(fd)) for fd in (1, 2)]
        return [pipe for pipe in pipes if pipe is not None and not pipe.is_closing()]

    async def wait(self, timeout_s: float | None = None) -> int | None:
        """Return the exit code, a negative number for a signal, or `None` after `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.exited.wait()
        except TimeoutError:
            return None
        return self.exit_code()

    def stop(self, grace_s: float) -> None:
        """Send SIGTERM to the group, and kill it after `grace_s`. Returns at once."""
        self._ask_to_end()
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(grace_s, self.kill)

    def kill(self) -> None:
        """Kill the group."""
        if self.exited.is_set():  # its PID may belong to another process now
            return
        if self._supervised:
            kill_below(self.pid)  # the reaper, without children, ends by itself
        else:
            kill_group(self.pid)

    async def end(self) -> None:
        """End the child like any other, and cancel the pending kill timers."""
        for timer in (self._timer, self._moment):
            if timer:
                timer.cancel()
        if self._supervised:
            await self._end_reaper()
        kill_group(self.pid)
        self._read_on()
        await super().end()
        if self._moment:
            self._moment.cancel()

    async def _end_reaper(self) -> None:
        """Kill the reaper's descendants until it has ended; a command may have stopped it."""
        deadline = asyncio.get_running_loop().time() + _GRACE_S
        while not self.exited.is_set() and asyncio.get_running_loop().time() < deadline:
            kill_below(self.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGCONT)
            await self.wait(_LOOK_S)

    def _ask_to_end(self) -> None:
        if self.exited.is_set():
            return
        below = [process.pid for process in list_tree(self.pid) if process.pid != self.pid] if self._wrapped else []
        with suppress(ProcessLookupError, PermissionError):
            if not below:
                os.killpg(self.pid, signal.SIGTERM)
        for pid in below:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)
