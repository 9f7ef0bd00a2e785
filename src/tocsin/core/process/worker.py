"""Child processes that stay: each answers one request at a time, a line of JSON on standard input.

They lead their own process groups, get no variable but those given, and their standard error is discarded. Their
program must end when its input ends, so that it does not outlive this process.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from tocsin.core.errors import ProcessError
from tocsin.core.process.starting import ProcessTimeoutError, kill_group

_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_GRACE_S = 1.0


class WorkerEndedError(ProcessError):
    """The process ended, or was killed, before it answered."""

    code = "worker-ended"


class WorkerNotReadyError(ProcessError):
    """No process became ready; nothing was asked."""

    code = "worker-not-ready"


class Worker(asyncio.SubprocessProtocol):
    """One process; made by `start`. Set `spent` to end it after the present request."""

    def __init__(self) -> None:
        self.spent = False
        self.requests = 0
        self._received = bytearray()
        self._answer: asyncio.Future[Any] | None = None
        self._closed = asyncio.Event()

    @classmethod
    async def start(cls, argv: Sequence[str], env: Mapping[str, str]) -> "Worker":
        """Start a process; raise ProcessError. Its program is not ready yet."""
        loop, worker = asyncio.get_running_loop(), cls()
        try:
            await loop.subprocess_exec(
                lambda: worker, *argv, env=dict(env), stderr=asyncio.subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            raise ProcessError(f"{argv[0]} could not be started: {error.strerror}") from None
        return worker

    @property
    def pid(self) -> int:
        """Its process ID."""
        return self._transport.get_pid()

    @property
    def ended(self) -> bool:
        """Whether it can answer no more."""
        return self._closed.is_set() or self._transport.get_returncode() is not None

    async def ask(self, request: Mapping[str, Any], timeout_s: float) -> Any:
        """Return the answer; raise WorkerEndedError or ProcessTimeoutError, after which it must be closed."""
        if self.ended:
            raise WorkerEndedError("the process has ended")
        self.requests += 1
        self._answer = asyncio.get_running_loop().create_future()
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        pipe.write(json.dumps(request).encode() + b"\n")
        try:
            async with asyncio.timeout(timeout_s):
                return await self._answer
        except TimeoutError:
            raise ProcessTimeoutError(f"the process did not answer within {timeout_s:g} s") from None

    async def aclose(self) -> None:
        """Kill it, and wait until it is reaped."""
        if self._transport.get_returncode() is None:
            kill_group(self.pid)
        try:
            async with asyncio.timeout(_GRACE_S):
                await self._closed.wait()
        except TimeoutError:
            return
        finally:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._received += data
        line, end, rest = self._received.partition(b"\n")
        if len(line) > _MAX_ANSWER_BYTES:
            kill_group(self.pid)
        elif end:
            self._received = rest
            self._settle(bytes(line))

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()
        code = self._transport.get_returncode()
        self._fail(f"the process ended with signal {-code}" if code and code < 0 else f"the process ended with {code}")

    def _settle(self, line: bytes) -> None:
        try:
            answer = json.loads(line)
        except ValueError:
            self._fail("the process did not answer in JSON")
            return
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(WorkerEndedError(reason))


class WorkerPool:
    """At most `size` processes of one program: started when needed, kept warm, ended after `idle_s` without a request.

    A new one gets an empty object first, and must answer within `start_s`. They start one after the other, because
    many requests at once seldom need many processes. Each is ended after `max_requests`, so that it cannot grow without
    end. The end of the event loop ends all.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        size: int,
        idle_s: float,
        start_s: float,
        max_requests: int = 1_000,
    ) -> None:
        self._argv, self._env = argv, env
        self._idle_s, self._start_s, self._max_requests = idle_s, start_s, max_requests
        self._free: list[Worker] = []
        self._slots, self._changed, self._starting = asyncio.Semaphore(size), asyncio.Condition(), False
        self._used = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def idle(self) -> list[int]:
        """The process IDs of those that wait for a request."""
        return [each.pid for each in self._free if not each.ended]

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Worker]:
        """Lend a process for the block; one whose block raises is killed. Raises WorkerNotReadyError."""
        async with self._slots:
            worker = await self._take()
            try:
                yield worker
            except BaseException:
                worker.spent = True
                raise
            finally:
                if worker.spent or worker.ended or worker.requests > self._max_requests:  # the first was empty
                    await worker.aclose()
                else:
                    await self._keep(worker)

    async def _take(self) -> Worker:
        async with self._changed:
            await self._changed.wait_for(lambda: self._free or not self._starting)
            if worker := await self._free_one():
                return worker
            self._starting = True
        try:
            return await self._new_one()
        finally:
            async with self._changed:
                self._starting = False
                self._changed.notify_all()

    async def _free_one(self) -> Worker | None:
        while self._free:
            worker = self._free.pop()
            if not worker.ended:
                return worker
            await worker.aclose()
        return None

    async def _new_one(self) -> Worker:
        worker = None
        try:
            worker = await Worker.start(self._argv, self._env)
            await worker.ask({}, self._start_s)
        except BaseException as error:
            if worker:
                await worker.aclose()
            if isinstance(error, ProcessError):
                raise WorkerNotReadyError(str(error)) from None
            raise
        return worker

    async def _keep(self, worker: Worker) -> None:
        async with self._changed:
            self._free.append(worker)
            self._changed.notify()
        self._used.set()
        # Cancelled when the loop ends, so that no process outlives a command that needed one.
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._end_idle(), name="idle processes")

    async def _end_idle(self) -> None:
        try:
            while True:
                self._used.clear()
                async with asyncio.timeout(self._idle_s):
                    await self._used.wait()
        except TimeoutError:
            pass
        finally:
            while self._free:
                await self._free.pop().aclose()
