"""Carries out one command on many hosts, as the work of a run."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence

from tocsin.core.process.starting import Child, ProcessTimeoutError, streaming
from tocsin.core.tasks import run_concurrently
from tocsin.core.text.strings import number_of
from tocsin.core.text.visible import one_line
from tocsin.core.tracing.spans import SpanKind, span
from tocsin.features.ssh.client.outcome import SHARED, Outcome, outcome_of
from tocsin.features.ssh.client.ssh_program import SshProgram, SshSession
from tocsin.features.ssh.model import HostEntry, SshRequest
from tocsin.runs.model import HostResult, HostStatus, Run, RunResult, RunStatus
from tocsin.runs.recorder import TIMEOUT_GRACE_S, RunHandle

MAX_KEPT_BYTES = 64 * 1024  # of one stream of one host, in the record; the log of the run has more
MAX_TOLD = 3_000  # characters of output in a message
_SHOWN = 10


class Execution:
    """One command on its hosts; `on_result` gets each result of a host on which it began."""

    def __init__(
        self,
        program: SshProgram,
        hosts: Sequence[HostEntry],
        known: Mapping[str, HostEntry],
        request: SshRequest,
        redact: Callable[[str], str],
        on_result: Callable[[HostResult], Awaitable[None]],
    ) -> None:
        self._program = program
        self._hosts = hosts
        self._known = known
        self._request = request
        self._redact = redact
        self._on_result = on_result
        self._results = {host.name: HostResult(host.name) for host in hosts}
        self._children: set[Child] = set()
        self._rest: HostStatus | None = None  # the outcome of hosts that have not started
        self._grace_s = 0.0  # for what was just being started when the run was cancelled
        self._handle: RunHandle

    async def work(self, handle: RunHandle) -> RunResult:
        """Run the command on all hosts, at most `max_parallel` at the same time."""
        self._handle = handle
        handle.on_cancel(self._cancel)
        await handle.save_hosts(*self._results.values())
        slots = asyncio.Semaphore(self._request.max_parallel)
        async with self._program.session(self._hosts, self._known) as session:
            await run_concurrently(self._take(host, session, slots) for host in self._hosts)
        return summary_of(list(self._results.values()))

    def _cancel(self, grace_s: float) -> None:
        self._rest, self._grace_s = HostStatus.CANCELLED, grace_s
        for child in self._children:
            child.stop(grace_s)

    async def _take(self, host: HostEntry, session: SshSession, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._rest:
                await self._save(HostResult(host.name, self._rest))
                return
            await self._save(HostResult(host.name, HostStatus.RUNNING))
            with span("run on host", SpanKind.CLIENT, run=self._handle.run_id, host=host.name) as current:
                result = await self._run(host, session)
                current.set(outcome=result.status, exit_code=result.exit_code)
                current.fail("" if result.status is HostStatus.SUCCEEDED else str(result.status))
            if result.status is not HostStatus.SUCCEEDED and self._request.stop_on_failure:
                self._rest = self._rest or HostStatus.SKIPPED
        await self._save(result)
        if result.status is not HostStatus.SUCCEEDED:
            self._handle.write(f"{host.name}/system", f"{result.status}: {result.error}\n")
        await self._on_result(result)

    async def _save(self, result: HostResult) -> None:
        self._results[result.host] = result
        await self._handle.save_hosts(result)

    async def _run(self, host: HostEntry, session: SshSession) -> HostResult:
        loop = asyncio.get_running_loop()
        started = loop.time()
        output = _Output(host.name, self._handle)
        try:
            async with asyncio.timeout(self._request.timeout_s):
                failed = await session.share(host)
            left = self._request.timeout_s - (loop.time() - started)
            if failed:
                outcome = outcome_of(host.name, *failed)
            elif self._rest is HostStatus.CANCELLED:
                outcome = Outcome(HostStatus.CANCELLED, None, "cancelled before the command started")
            else:
                outcome = await self._command(host, session, output, left)
        except (TimeoutError, ProcessTimeoutError):
            outcome = self._timed_out("the host did not respond")
        if self._rest is HostStatus.CANCELLED and outcome.exit_code is None and outcome.status is not self._rest:
            outcome = Outcome(HostStatus.CANCELLED, None, "cancelled; the command may still be running there")
        if outcome.status is HostStatus.AUTH_FAILED:
            outcome = outcome._replace(error=f"{outcome.error}{session.why_refused(host)}")
        stdout, stderr = (self._redact(output.text(stream)) for stream in ("stdout", "stderr"))
        error = None if outcome.error is None else self._redact(outcome.error)
        duration = round((loop.time() - started) * 1000)
        return HostResult(
            host.name, outcome.status, outcome.exit_code, None, stdout, stderr, output.truncated, duration, error
        )

    async def _command(self, host: HostEntry, session: SshSession, output: "_Output", left_s: float) -> Outcome:
        command, values = sent_command(self._request)
        argv = session.argv(host, (command,), "LogLevel=DEBUG2")
        async with streaming(argv, output.feed, stdin=values, env=self._program.environment()) as child:
            self._children.add(child)
            if self._rest is HostStatus.CANCELLED:
                child.stop(self._grace_s)
            try:
                if len(self._hosts) == 1:
                    await self._handle.child_started(child.pid)
                code = await child.wait(max(0.0, left_s))
                if code is None:
                    child.stop(TIMEOUT_GRACE_S)
                    await child.wait(2 * TIMEOUT_GRACE_S)
                    return self._timed_out("the command did not finish")
            finally:
                self._children.discard(child)
        log = session.read_log(host)
        if self._program.shares and SHARED not in log:
            session.forget_dead(host)
        return outcome_of(host.name, code, log, output.text("stderr"))

    def _timed_out(self, what: str) -> Outcome:
        reason = f"{what} within {self._request.timeout_s:g} s; if it has started, it may still be running there"
        return Outcome(HostStatus.TIMED_OUT, None, reason)


class _Output:
    """Stores the beginning of the output of a host, and writes all of it to the log of the run."""

    def __init__(self, host: str, handle: RunHandle) -> None:
        self._host = host
        self._handle = handle
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}
        self.truncated = False

    def feed(self, stream: str, data: bytes) -> None:
        kept = self._kept[stream]
        room = MAX_KEPT_BYTES - len(kept)
        self.truncated = self.truncated or len(data) > room
        kept += data[: max(0, room)]
        self._handle.feed(f"{self._host}/{stream}", data)

    def text(self, stream: str) -> str:
        return self._kept[stream].decode(errors="replace")


def remote_command(request: SshRequest) -> str:
    """Return the command line of a host's shell for display; without `env` and `working_dir`, the command itself."""
    return "\n".join([*_directory(request), *_exports(request), request.command])


def sent_command(request: SshRequest) -> tuple[str, str]:
    """Return the command line of a host's shell, and the text that it reads from standard input first.

    Variables come that way: a command line can be seen by every user, here and there.
    """
    values = "\n".join(_exports(request))
    read = [_READ.format(size=len(values.encode(errors="replace")))] if values else []
    return "\n".join([*_directory(request), *read, request.command]), values


# One byte after another, so that nothing behind them is read.
_READ = '_tocsin=$(dd bs=1 count={size} 2>/dev/null) && eval "$_tocsin" && unset _tocsin || exit 126'


def _directory(request: SshRequest) -> list[str]:
    return [f"cd -- {shlex.quote(request.working_dir)} || exit"] if request.working_dir else []


def _exports(request: SshRequest) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in request.env.items()]


async def dry_run(hosts: Sequence[HostEntry], handle: RunHandle) -> RunResult:
    """Record the hosts on which a command would run."""
    await handle.save_hosts(*(HostResult(host.name, HostStatus.SKIPPED) for host in hosts))
    handle.write("system", f"would run on {', '.join(host.name for host in hosts)}\n")
    return RunResult(RunStatus.SUCCEEDED)


def told(command: str, ended: RunResult | Run, results: Sequence[HostResult]) -> str:
    """Return the message about an ended run: its state, and the last output of each host."""
    lines = [f"{one_line(command)}: {ended.status.replace('_', ' ')}", *([ended.reason] if ended.reason else [])]
    room = MAX_TOLD // max(1, len(results))
    for result in results:
        printed = "\n".join(text.strip() for text in (result.stdout, result.stderr) if text.strip())
        shown = f"…{printed[-room:]}" if len(printed) > room else printed
        lines += ["", f"{result.host}: {result.status.replace('_', ' ')}", *([shown] if shown else [])]
    return "\n".join(lines)


def summary_of(results: Sequence[HostResult]) -> RunResult:
    """Return how a run ended whose hosts ended so."""
    failed = [result for result in results if result.status is not HostStatus.SUCCEEDED]
    code = results[0].exit_code if len(results) == 1 else None
    if not failed:
        return RunResult(RunStatus.SUCCEEDED, exit_code=code)
    shown = [f"{result.host}: {result.status.replace('_', ' ')}" for result in failed[:_SHOWN]]
    more = [f"and {len(failed) - _SHOWN} more"] if len(failed) > _SHOWN else []
    ran = sum(result.status is not HostStatus.SKIPPED for result in failed)
    reason = f"failed on {ran} of {number_of(len(results), 'host')} ({', '.join(shown + more)})"
    if len(results) == 1 and failed[0].error:
        reason = failed[0].error
    return RunResult(_status_of(results), reason, code, error={"code": "hosts-failed", "message": reason})


def _status_of(results: Sequence[HostResult]) -> RunStatus:
    states = {result.status for result in results}
    if HostStatus.CANCELLED in states:
        return RunStatus.CANCELLED
    if HostStatus.SUCCEEDED in states:
        return RunStatus.PARTIALLY_SUCCEEDED
    return RunStatus.TIMED_OUT if states == {HostStatus.TIMED_OUT} else RunStatus.FAILED
