"""What runs: work that writes what it does into a recorder; most of it is a child process."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tocsin.core.process.identity import identity_of
from tocsin.core.process.starting import Child, streaming
from tocsin.core.process.tree import tree_of
from tocsin.runs.capture import OutputLog
from tocsin.runs.model import Command, RunResult, RunStatus

# A child that is out of time gets this long to put things away.
TIMEOUT_GRACE_S = 2.0
# How often a child is looked at that may use only so much.
_WATCH_S = 0.2
# Killed and still there: it hangs in the kernel. Nobody waits for that.
_KILLED_S = 2.0


class RunHandle:
    """What work knows of its run, and tells of itself."""

    def __init__(self, run_id: str, capture: OutputLog, set_child: Callable[[str, str], Awaitable[None]]) -> None:
        self.run_id = run_id
        self._capture = capture
        self._set_child = set_child
        self._end: Callable[[float], None] | None = None

    def write(self, stream: str, text: str) -> None:
        """Keep some text, any number of lines."""
        self._capture.feed(stream, text.encode(errors="replace"))

    def feed(self, stream: str, data: bytes) -> None:
        """Keep some output as it came."""
        self._capture.feed(stream, data)

    async def child_started(self, pid: int) -> None:
        """Record the child that works, so that the next start can end it should this process die."""
        await self._set_child(self.run_id, identity_of(pid))

    def on_cancel(self, end: Callable[[float], None]) -> None:
        """Have `end` called, with the seconds it has, when the work shall end; without it the task is cancelled."""
        self._end = end

    def ask_to_end(self, grace_s: float) -> bool:
        """Ask the work to end; return whether it can be asked."""
        if self._end is None:
            return False
        self._end(grace_s)
        return True


Work: TypeAlias = Callable[[RunHandle], Awaitable[RunResult]]


def command(order: Command) -> Work:
    """Return the work of one child process, which ends with all that it started."""

    async def work(recorder: RunHandle) -> RunResult:
        async with streaming(
            order.argv,
            recorder.feed,
            stdin=order.stdin,
            env=order.env,
            cwd=order.cwd,
            wrapped=order.wrapped,
            supervised=not order.wrapped,
        ) as child:
            recorder.on_cancel(child.stop)
            await recorder.child_started(child.pid)
            return await _watch(child, order)

    return work


async def _watch(child: Child, order: Command) -> RunResult:
    """Wait for the end of a child, and end it when it takes too long or too much."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + order.timeout_s if order.timeout_s else None
    limited = bool(order.max_processes or order.max_memory_bytes)
    while True:
        left = None if deadline is None else max(0.0, deadline - loop.time())
        step = min(_WATCH_S, left if left is not None else _WATCH_S) if limited else left
        code = await child.wait(step)
        if code is not None:
            return _ended(code)
        if limited and (excess := _excess(child.pid, order)):
            child.kill()
            return _named(await child.wait(_KILLED_S), RunStatus.FAILED, excess, "limit-exceeded")
        if deadline is not None and loop.time() >= deadline:
            child.stop(TIMEOUT_GRACE_S)
            reason = f"it did not end within {order.timeout_s:g} s"
            code = await child.wait(TIMEOUT_GRACE_S + _KILLED_S)
            return _named(code, RunStatus.TIMED_OUT, reason, "timed-out")


def _excess(pid: int, order: Command) -> str:
    """Return what a child and all that it started use too much of."""
    processes = tree_of(pid)
    if order.max_processes and len(processes) > order.max_processes:
        return f"it started more than {order.max_processes} processes"
    used = sum(process.resident_bytes for process in processes)
    if order.max_memory_bytes and used > order.max_memory_bytes:
        return f"it used more than {order.max_memory_bytes // 1024**2} MiB of memory"
    return ""


def _ended(code: int) -> RunResult:
    if code == 0:
        return RunResult(RunStatus.SUCCEEDED, exit_code=0)
    if code > 0:
        return _named(code, RunStatus.FAILED, f"it ended with exit code {code}", "exit-code")
    return _named(code, RunStatus.FAILED, f"it was ended by {_signal_name(code)}", "signal")


def _named(code: int | None, status: RunStatus, reason: str, error: str) -> RunResult:
    """Return an ending that was no success, with what is known of the exit."""
    killed = code is None or code < 0
    name = _signal_name(code if code is not None else -signal.SIGKILL) if killed else None
    return RunResult(status, reason, None if killed else code, name, {"code": error, "message": reason})


def _signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return f"signal {-code}"
