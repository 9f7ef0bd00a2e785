"""The record of a run as operations answer it; several areas start runs."""

from typing import Any

from pydantic import Field

from tocsin.rest.models import ResponseModel, Time
from tocsin.runs.model import HostStatus, OutputDeliveryStatus, RunStatus


class OutputRecord(ResponseModel):
    """What a run printed."""

    bytes: int
    lines: int
    truncated: bool = Field(description="Whether the log has only the beginning and the end.")
    tail: str = Field(description="The last 20 lines.")


class SendResultRecord(ResponseModel):
    """The outcome of one message."""

    ok: bool
    channel: str
    target: str
    message: str
    error: str


class OutputResultRecord(SendResultRecord):
    """The outcome of one message with a run's output."""

    delivery_id: str | None = Field(description="The delivery; null if it was refused before it was queued.")


class DeliveryRecord(ResponseModel):
    """How far the messages with a run's output came; it never changes the state of the run."""

    status: OutputDeliveryStatus
    results: list[OutputResultRecord]


class RunError(ResponseModel):
    """Why a run failed."""

    code: str
    message: str


class StepRecord(ResponseModel):
    """One step of a run."""

    name: str
    type: str
    status: RunStatus
    attempt: int
    started_at: Time | None
    finished_at: Time | None
    duration_ms: int | None
    exit_code: int | None
    when: str | None
    error: RunError | None
    outputs: dict[str, Any]
    message: str | None = Field(description="What a person decides, while the step waits for that.")


class HostRecord(ResponseModel):
    """What a command did on one host."""

    host: str
    status: HostStatus
    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str
    truncated: bool
    duration_ms: int | None
    error: str | None


class RunSummary(ResponseModel):
    """One execution, as lists show it."""

    id: str
    kind: str
    subject_id: str
    subject_name: str
    trigger: str
    actor: str | None
    status: RunStatus
    reason: str | None = Field(description="Why it was skipped, missed or failed, in one sentence.")
    attempt: int
    max_attempts: int
    retry_of: str | None
    parent_run_id: str | None
    scheduled_for: Time | None
    queued_at: Time | None
    started_at: Time | None
    finished_at: Time | None
    duration_ms: int | None
    delay_ms: int | None = Field(description="How long after the scheduled time it started.")
    exit_code: int | None
    signal: str | None
    dry_run: bool
    params: dict[str, Any]
    env_keys: list[str]
    output: OutputRecord
    delivery: DeliveryRecord
    error: RunError | None


class RunRecord(RunSummary):
    """One execution, with its steps and hosts."""

    steps: list[StepRecord]
    hosts: list[HostRecord]


class LogLine(ResponseModel):
    """One line that a run printed."""

    n: int = Field(description="Its number, from 1.")
    ts: Time
    stream: str
    text: str


class RunLog(ResponseModel):
    """A part of what a run printed."""

    lines: list[LogLine]
    next_line: int = Field(description="Ask for `from_line` with it to get what comes next.")
    complete: bool
    truncated: bool


class RunWithLog(RunRecord):
    """One execution, what was executed, and what it printed where that was asked for."""

    definition: dict[str, Any] | None = Field(
        description="What was executed, as it was then: of a workflow the text of its file, `yaml`; null if not kept."
    )
    log: RunLog | None = None


# What starting something may answer: the run that has ended, or the one that goes on.
RUN_STARTED: dict[int | str, dict[str, Any]] = {
    200: {"model": RunRecord, "description": "The run, which ended within `Prefer: wait=N`."},
    202: {"model": RunRecord, "description": "The run has started; `Location` is its address."},
}
