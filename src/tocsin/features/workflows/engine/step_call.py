"""One attempt at one step: its input, its reports and its end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tocsin.features.workflows.engine.values import StepScope
from tocsin.features.workflows.language.model import StepType, Workflow, WorkflowStep
from tocsin.runs.model import RunStatus
from tocsin.runs.recorder import RunHandle

MAX_KEPT_BYTES = 1024 * 1024  # of what a step prints, for its outputs


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The result of an attempt; its outputs are read from `stdout`."""

    status: RunStatus
    reason: str = ""
    code: str = ""  # of the error
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict)  # those that its type has

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.status is RunStatus.SUCCEEDED


def succeeded(stdout: str = "", **outputs: Any) -> StepOutcome:
    """Return a success with the outputs of the step's type."""
    return StepOutcome(RunStatus.SUCCEEDED, stdout=stdout, outputs=outputs)


def failed(reason: str, code: str = "step-failed", **more: Any) -> StepOutcome:
    return StepOutcome(RunStatus.FAILED, reason, code, **more)


class StepLog:
    """The log of the run as one step sees it: its lines carry the step's name, and the end is kept for outputs.

    It stands for a `RunHandle` where a child process is started.
    """

    def __init__(self, handle: RunHandle, stream: str) -> None:
        self._handle = handle
        self.name = stream
        self._end: Callable[[float], None] | None = None
        self._kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self.cut: set[str] = set()  # streams of which only the end is kept
        self.run_id = handle.run_id

    def write(self, stream: str, text: str) -> None:
        """Record text of any number of lines, the last one with its end."""
        self.feed(stream, (text if text.endswith("\n") else f"{text}\n").encode(errors="replace"))

    def feed(self, stream: str, data: bytes) -> None:
        """Record raw output."""
        name = self.name if stream == "stdout" else f"{self.name}:{stream}"
        self._handle.feed(name, data)
        if (kept := self._kept.get(stream)) is not None:
            kept += data
            if len(kept) > MAX_KEPT_BYTES:
                del kept[: len(kept) - MAX_KEPT_BYTES]
                self.cut.add(stream)

    def kept(self, stream: str) -> str:
        """Return the text that was printed to a stream, or its end."""
        return self._kept[stream].decode(errors="replace")

    async def child_started(self, pid: int) -> None:
        """Record the child process, so that it can be ended if this process dies."""
        await self._handle.child_started(pid)

    def on_cancel(self, end: Callable[[float], None]) -> None:
        """Call `end` with the grace period on cancellation, instead of cancelling the task."""
        self._end = end

    def ask_to_end(self, grace_s: float) -> bool:
        """Ask the attempt to end; return False if it can only be cancelled."""
        if self._end is None:
            return False
        self._end(grace_s)
        return True


@dataclass(frozen=True, slots=True)
class StepCall:
    """One attempt at one step, for one value of `for_each`."""

    workflow: Workflow
    step: WorkflowStep
    scope: StepScope
    log: StepLog
    handle: RunHandle
    env: Mapping[str, str]  # the whole environment of its command
    variables: Mapping[str, str]  # what of it the workflow sets, for other hosts
    attempt: int
    since: float  # Unix seconds: when it began, also where that was in another process

    @property
    def key(self) -> str:
        """Its name in the request of the run."""
        return f"{self.log.name}:{self.attempt}"

    def option(self, name: str, default: str = "") -> str:
        """Return a key of its type that is a text, with its values."""
        template = self.step.options.get(name)
        return default if template is None else self.scope.text(template)

    def command(self) -> str:
        """Return the command as text, with its values."""
        command = self.step.command
        return "" if isinstance(command, tuple) else self.scope.text(command)


Execute: TypeAlias = Callable[[StepCall], Awaitable[StepOutcome]]


@dataclass(slots=True, eq=False)
class Attempt:
    """An attempt that runs, and how to end it."""

    task: "asyncio.Task[StepOutcome]"
    call: StepCall

    @property
    def executes(self) -> bool:
        """Whether it does more than wait, for a person, a time or another run."""
        return self.call.step.type not in {StepType.WAIT, StepType.WORKFLOW}

    def ask_to_end(self, grace_s: float) -> None:
        """Ask it to end, or cancel it if it cannot be asked."""
        if not self.call.log.ask_to_end(grace_s):
            self.task.cancel()
