"""Programs that outlive the process that starts them, such as a browser that the user keeps open.

No process waits for such a program: a caller that needs it stores its PID and its identity
(`core/process/identity.py`), which distinguishes it from a later process with the same PID.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tocsin.core.errors import ProcessError
from tocsin.core.process.identity import is_alive, is_dead, is_elsewhere, read_identity
from tocsin.core.process.starting import kill_group, run
from tocsin.core.tasks import to_the_end

_DETACHER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("detacher.py")))
_STARTS_WITHIN_S = 60.0
_KILLED_WITHIN_S = 10.0
_LOOK_S = 0.02


class DetachedProcess(NamedTuple):
    """A started program and its identity."""

    pid: int
    identity: str

    @property
    def is_elsewhere(self) -> bool:
        """Whether it was started where this process cannot check: on another machine, or in another container."""
        return is_elsewhere(self.identity)

    def runs(self) -> bool:
        """Whether it still runs; a program that was started elsewhere counts as running unless its end is proved."""
        if is_alive(self.identity):
            return True
        if is_dead(self.identity):
            return False
        # No proof means: on Linux, that its PID namespace is gone, and on macOS, that there is no /proc.
        return self.is_elsewhere or (sys.platform != "linux" and process_exists(self.pid))


async def start_detached(argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> DetachedProcess:
    """Start `argv` so that it survives the end of this process; its output replaces the content of `log`.

    Raises ProcessError if it cannot be started.
    """
    starting = asyncio.ensure_future(_launch(argv, env, log))
    try:
        # Shielded: after a cancellation, the program may already run, and its PID would be lost.
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await to_the_end(_abandon(starting))
        raise


def run_in_background(work: Callable[[Callable[[], None]], int]) -> int:
    """Run `work` in a child process, and return 0 in this process once `work` calls its argument.

    The child then continues in its own session without input and output. If it ends before, return its exit
    code. This forks: no other thread and no event loop may run.
    """
    reader, writer = os.pipe()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    child = os.fork()
    if not child:
        os.close(reader)
        os.setsid()
        return work(partial(_leave_terminal, writer))
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as told:
            if told.read(1):
                return 0
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except KeyboardInterrupt:
        os.kill(child, signal.SIGTERM)
        raise
    return code if code >= 0 else 128 - code  # as shells report a signal


def _leave_terminal(writer: int) -> None:
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    os.write(writer, b".")
    os.close(writer)


async def end_detached(process: DetachedProcess, grace_s: float) -> bool:
    """Send SIGTERM to a program, and kill it and its group after `grace_s`; return whether it ended by itself.

    Raises ProcessError if it cannot be ended.
    """
    if process.is_elsewhere:
        raise ProcessError(f"process {process.pid} runs on another machine", hint="stop it on that machine")
    if not process.runs():
        return True
    try:
        os.kill(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        return True
    except PermissionError:
        raise ProcessError(f"process {process.pid} belongs to another user", hint="stop it as that user") from None
    if await _ends_within(process, grace_s):
        return True
    await kill_detached(process)
    return False


async def kill_detached(process: DetachedProcess) -> None:
    """Kill a program and its group; raise ProcessError if it does not end."""
    if process.runs() and not process.is_elsewhere:
        kill_group(process.pid)
    if not await _ends_within(process, _KILLED_WITHIN_S):
        raise ProcessError(f"process {process.pid} was killed but has not ended", hint="check it with `ps`")


async def _ends_within(process: DetachedProcess, seconds: float) -> bool:
    """Poll for the end of the process, which is not our child."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while process.runs():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(_LOOK_S)
    return True


async def _launch(argv: Sequence[str], env: Mapping[str, str], log: Path) -> DetachedProcess:
    done = await run([*_DETACHER, str(log), *argv], timeout_s=_STARTS_WITHIN_S, env=env)
    if done.exit_code != 0 or not done.stdout.strip().isdecimal():
        reason = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.exit_code}"
        raise ProcessError(f"{argv[0]} could not be started: {reason}", hint="check the path and its permissions")
    pid = int(done.stdout)
    return DetachedProcess(pid, read_identity(pid))


async def _abandon(starting: Awaitable[DetachedProcess]) -> None:
    with suppress(ProcessError):
        await kill_detached(await starting)


def process_exists(pid: int) -> bool:
    """Whether this machine has a process with this PID."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True
