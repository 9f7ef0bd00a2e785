"""The work of a run: a coroutine that reports through a `RunHandle`, and usually runs a child process."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Any, TypeAlias

from tocsin.core.process.identity import read_identity
from tocsin.core.process.starting import Child, streaming
from tocsin.core.process.tree import list_tree
from tocsin.core.tasks import to_the_end
from tocsin.core.time.clock import Clock
from tocsin.core.tracing.spans import with_traceparent
from tocsin.runs.approvals import Decision, StepQuestion, WaitingStep
from tocsin.runs.model import Command, HostResult, Run, RunResult, RunStatus, StepRun
from tocsin.runs.output_log import OutputLog
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import StepWait

# Between SIGTERM and SIGKILL for a child that timed out.
TIMEOUT_GRACE_S = 2.0
# The interval at which the resource usage of a limited child is checked.
_WATCH_S = 0.2
# The time after which a killed child that still exists is abandoned, because it hangs in the kernel.
_KILLED_S = 2.0
# The convention of shells and coreutils: timeout(1), and 128 + the signal number.
_EXIT_CODES = {
    124: ": a time limit inside the command ended it",
    126: ": a program cannot be executed",
    127: ": a program was not found",
    137: ": it was killed (SIGKILL), often because memory ran out",
    143: ": it was asked to end (SIGTERM)",
}


class RunHandle:
    """The interface of the work to its run: ID, output, steps, hosts, child process, approval, cancellation."""

    def __init__(self, run: Run, capture: OutputLog, store: RunStore, clock: Clock, request: Mapping[str, Any]) -> None:
        self.run = run  # as it was when the work was prepared
        self.run_id = run.id
        self.request = dict(request)  # as it is stored
        self._capture = capture
        self._store = store
        self._clock = clock
        self._end: Callable[[float], None] | None = None
        self._waiting: dict[str, asyncio.Future[Decision]] = {}
        self.executes: Callable[[], bool] = bool  # whether a part of the work does more than wait; False by default
        self.is_released = False  # the work is cancelled so that another process can continue it

    def write(self, stream: str, text: str) -> None:
        """Record text of any number of lines."""
        self._capture.feed(stream, text.encode(errors="replace"))

    def feed(self, stream: str, data: bytes) -> None:
        self._capture.feed(stream, data)

    async def child_started(self, pid: int) -> None:
        """Record the child process, so that it can be killed if this process dies."""
        await self._store.set_child(self.run_id, read_identity(pid))

    async def amend_request(self, **changes: Any) -> None:
        """Change fields of `RunSpec.request` for a process that continues the run; mappings are merged."""
        for name, value in changes.items():
            before = self.request.get(name)
            self.request[name] = {**before, **value} if isinstance(before, dict) else value
        await self._store.amend_request(self.run_id, changes)

    async def amend_child(self, name: str, run_id: str) -> None:
        """Record in the request the run that does a part of the work."""
        await self.amend_request(children={name: run_id})

    async def save_steps(self, *steps: StepRun) -> None:
        """Record steps; a step with a known name replaces the earlier record."""
        await self._store.save_steps(self.run_id, steps)

    async def save_hosts(self, *hosts: HostResult) -> None:
        """Record the results of hosts; a host with a known name replaces the earlier record."""
        await self._store.save_hosts(self.run_id, hosts)

    async def decision(
        self, question: StepQuestion, ask: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> Decision:
        """Wait until a person approves or rejects a step; the run is `waiting` meanwhile.

        `ask` is called once the question is recorded, and sends it to people. Cancelling this call, for example after a
        time-out, withdraws the question.
        """
        waiting = WaitingStep(self.run_id, question, self._clock.now())
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[question.step] = future
        asking: asyncio.Task[None] | None = None
        try:
            present = await self.present_question(question.step)
            if present is None:
                await self._store.approvals.wait_for(waiting)
            elif present.decision:
                self.decided(present.decision)
            asking = asyncio.create_task(ask()) if ask else None  # an answer may arrive immediately
            return await future
        finally:
            del self._waiting[question.step]
            await to_the_end(self._withdraw(question, asking))

    async def present_question(self, step: str) -> StepWait | None:
        """Return the question that a step asked before this process continued the run."""
        return await self._store.approvals.present(self.run_id, step)

    async def _withdraw(self, question: StepQuestion, asking: asyncio.Task[None] | None) -> None:
        if asking:
            asking.cancel()
            await asyncio.wait({asking})
        if not self.is_released:
            await self._store.approvals.withdraw(self.run_id, question.step)

    @property
    def waits(self) -> bool:
        """Whether a step waits for a person."""
        return bool(self._waiting)

    def decided(self, decision: Decision) -> None:
        """Continue a waiting step after its decision."""
        waiting = self._waiting.get(decision.step)
        if waiting is not None and not waiting.done():
            waiting.set_result(decision)

    def on_cancel(self, end: Callable[[float], None]) -> None:
        """On cancellation, call `end` with the grace period in seconds instead of cancelling the task."""
        self._end = end

    def ask_to_end(self, grace_s: float) -> bool:
        """Ask the work to end; return False if it set no `on_cancel` callback."""
        if self._end is None:
            return False
        self._end(grace_s)
        return True


Work: TypeAlias = Callable[[RunHandle], Awaitable[RunResult]]


def command(order: Command) -> Work:
    """Return work that runs one child process, and kills its descendants when it ends."""

    async def work(handle: RunHandle) -> RunResult:
        async with streaming(
            order.argv,
            handle.feed,
            stdin=order.stdin,
            # A confined command has exactly the variables of the sandbox.
            env=order.env if order.writable else with_traceparent(order.env),
            cwd=order.cwd,
            wrapped=order.wrapped,
            supervised=not order.wrapped,
            attach=order.writable.attach if order.writable and order.wrapped else None,
        ) as child:
            handle.on_cancel(child.stop)
            await handle.child_started(child.pid)
            return await _watch(child, order)

    return work


async def _watch(child: Child, order: Command) -> RunResult:
    """Wait for a child, and kill it if it exceeds its time or resources."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + order.timeout_s if order.timeout_s else None
    limited = bool(order.max_processes or order.max_memory_bytes or order.writable)
    while True:
        left = None if deadline is None else max(0.0, deadline - loop.time())
        step = min(_WATCH_S, left if left is not None else _WATCH_S) if limited else left
        code = await child.wait(step)
        written = await asyncio.to_thread(order.writable.excess) if order.writable else ""
        if code is not None:
            if written:
                return _failed_result(code, RunStatus.FAILED, written, "limit-exceeded")
            return _result_of_exit(code, order.success_exit_codes)
        if limited and (excess := written or _excess(child.pid, order)):
            child.kill()
            return _failed_result(await child.wait(_KILLED_S), RunStatus.FAILED, excess, "limit-exceeded")
        if deadline is not None and loop.time() >= deadline:
            child.stop(TIMEOUT_GRACE_S)
            reason = f"it did not finish within {order.timeout_s:g} s"
            code = await child.wait(TIMEOUT_GRACE_S + _KILLED_S)
            return _failed_result(code, RunStatus.TIMED_OUT, reason, "timed-out")


def _excess(pid: int, order: Command) -> str:
    """Return the limit that a child and its descendants exceed, or `""`."""
    processes = list_tree(pid)
    if order.max_processes and len(processes) > order.max_processes:
        return f"it started more than {order.max_processes} processes"
    used = sum(process.resident_bytes for process in processes)
    if order.max_memory_bytes and used > order.max_memory_bytes:
        return f"it used more than {order.max_memory_bytes // 1024**2} MiB of memory"
    return ""


def _result_of_exit(code: int, success: Collection[int]) -> RunResult:
    if code in success:
        return RunResult(RunStatus.SUCCEEDED, exit_code=code)
    if code >= 0:
        reason = f"it ended with exit code {code}{_EXIT_CODES.get(code, '')}"
        return _failed_result(code, RunStatus.FAILED, reason, "exit-code")
    return _failed_result(code, RunStatus.FAILED, f"it was ended by {_signal_name(code)}", "signal")


def _failed_result(code: int | None, status: RunStatus, reason: str, error: str) -> RunResult:
    """Return the result of an unsuccessful run, with the exit code or signal."""
    killed = code is None or code < 0
    name = _signal_name(code if code is not None else -signal.SIGKILL) if killed else None
    return RunResult(status, reason, None if killed else code, name, {"code": error, "message": reason})


def _signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return f"signal {-code}"
