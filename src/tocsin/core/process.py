"""Child processes: the only room that starts any.

Every child leads its own process group. When the child has ended, is out of time, or nobody waits for
it any more, the whole group is killed, so nothing that it started stays behind.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import cast

from tocsin.core.errors import ProcessError

# What a child may print before the rest is thrown away: 1 MiB is far above any error text.
MAX_OUTPUT_BYTES = 1024 * 1024
# Once the group is killed, only a child stuck in the kernel, or one that left the group, holds pipes open.
_GRACE_S = 1.0


class ProcessTimeoutError(ProcessError):
    """A child process did not end in time and was killed: what it did until then is not known."""

    code = "process-timeout"


@dataclass(frozen=True, slots=True)
class Finished:
    """How a child process ended; a negative exit code is the signal that killed it."""

    exit_code: int
    stdout: str
    stderr: str


async def run(
    argv: Sequence[str], *, timeout_s: float, stdin: str = "", env: Mapping[str, str] | None = None
) -> Finished:
    """Run `argv` without a shell until it ends and return how it ended.

    It has ended when the program itself has, even if something it started still runs. Raises
    ProcessTimeoutError when that takes longer than `timeout_s`, ProcessError when it cannot be started.
    """
    if any("\0" in word for word in (*argv, *(env or {}), *(env or {}).values())):
        # asyncio refuses it, uvloop cuts the word there: the program would get another one than was meant.
        raise ProcessError(f"{argv[0]} could not be started: an argument or variable has a NUL character")
    data = stdin.encode()
    child = await _start(argv, env)
    try:
        child.feed(data)
        async with asyncio.timeout(timeout_s):
            await child.exited.wait()
    except TimeoutError:
        raise ProcessTimeoutError(f"{argv[0]} did not end within {timeout_s:g} s and was stopped") from None
    finally:
        await _to_the_end(child.end())
    return child.finished()


@asynccontextmanager
async def running(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> AsyncIterator[None]:
    """Keep `argv` running beside the block; kill it and all it started at the end.

    Raises ProcessError when it cannot be started.
    """
    child = await _start(argv, env)
    try:
        yield
    finally:
        await _to_the_end(child.end())


async def _start(argv: Sequence[str], env: Mapping[str, str] | None) -> "_Child":
    child = _Child()
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(lambda: child, *argv, env=env, start_new_session=True)
    )
    try:
        # Shielded: cancelled half-way, the program may run already and would have nobody to end it.
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _to_the_end(_abandon(starting, child))
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ProcessError(f"{argv[0]} could not be started: {reason}") from None
    return child


async def _abandon(starting: Awaitable[object], child: "_Child") -> None:
    with suppress(OSError, ValueError):
        await starting
        await child.end()


async def _to_the_end(ending: Coroutine[None, None, None]) -> None:
    """Wait for `ending`, a matter of a second at most, even if the caller is cancelled once more."""
    task, cancelled = asyncio.ensure_future(ending), None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled


class _Child(asyncio.SubprocessProtocol):
    """Collects what one child prints, and knows when it has ended.

    Not asyncio's own streams: there, waiting for the child also waits for whatever inherited its pipes.
    """

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self._closed = asyncio.Event()
        self._output = {1: bytearray(), 2: bytearray()}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = self._output[fd]
        kept += data[: MAX_OUTPUT_BYTES - len(kept)]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()

    def feed(self, data: bytes) -> None:
        """Send `data` to the child as far as it reads; one that ended before, or never reads, is fine."""
        pipe = cast(asyncio.WriteTransport | None, self._transport.get_pipe_transport(0))
        if pipe is not None and not pipe.is_closing():
            pipe.write(data)
            pipe.close()

    async def end(self) -> None:
        """Kill whatever is left of the group, and wait until the child is reaped and its output is read."""
        # No such group, or on macOS one of only dead members: that is what is wanted.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), signal.SIGKILL)
        try:
            async with asyncio.timeout(_GRACE_S):
                await self.exited.wait()
                await self._closed.wait()
        except TimeoutError:
            return
        finally:
            self._transport.close()

    def finished(self) -> Finished:
        """Return how the child ended."""
        code = self._transport.get_returncode()
        stdout, stderr = (self._output[fd].decode(errors="replace") for fd in (1, 2))
        return Finished(-signal.SIGKILL if code is None else code, stdout, stderr)
