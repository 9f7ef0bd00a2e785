"""What operations on cron jobs take and answer."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import Field, WithJsonSchema

from tocsin.core.reading.json_schema import patch_schema, record_schema
from tocsin.core.records.marks import Flat, Time
from tocsin.features.cron.definitions.job_fields import JOB, RETRY
from tocsin.features.cron.model import JobSource, JobState, JobType
from tocsin.rest.models import GivenTime, RequestModel
from tocsin.rest.pages import Page
from tocsin.runs.log_file import LogPage
from tocsin.runs.model import RunStatus, RunSummary
from tocsin.scheduling.missed import CatchUp
from tocsin.scheduling.overlap import Overlap


def _definition_schema() -> dict[str, Any]:
    schema = record_schema(JOB)
    schema["properties"]["retry"] = record_schema(RETRY)
    schema["required"] = ["name", *schema["required"]]
    return schema


def _patch_of_a_definition() -> dict[str, Any]:
    schema = patch_schema(JOB, always=["name"])
    schema["properties"]["retry"] = {"anyOf": [patch_schema(RETRY), {"type": "null"}]}
    return schema


# Read by the feature's own rules, which are those of its files; they tell all mistakes at once.
JobBody = Annotated[dict[str, Any], WithJsonSchema(_definition_schema())]
JobPatch = Annotated[dict[str, Any], WithJsonSchema(_patch_of_a_definition())]


# What a form, a file or a program gives for a parameter; who is started decides what it must be.
Param = str | bool | int | float | list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRecord:
    """Retry policy after a failure."""

    max_attempts: int
    delay_seconds: int
    backoff: float
    max_delay_seconds: int
    on_exit_codes: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentRun:
    """Run, as shown in a bar chart."""

    id: str
    status: RunStatus
    started_at: Time | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingInstant:
    """Scheduled run of a job."""

    at: Time
    local: Annotated[str, "The same time in the time zone of the job."]
    note: Annotated[str | None, "Effect of a clock change."]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingJobRun(UpcomingInstant):
    """Scheduled run, with its job."""

    job_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFields:
    """A definition; all but the name is null where a file never was valid."""

    name: str
    description: str | None
    schedule: str | None
    timezone: str | None
    type: JobType | None
    command: str | None
    params: dict[str, Param] | None
    env: dict[str, str] | None
    working_dir: str | None
    enabled: bool
    output: str | None
    output_on: Annotated[str | None, "One or more of always, output, failure, success, change, recovery."]
    timeout_seconds: int | None
    overlap: Overlap | None
    max_queued: int | None
    max_parallel: int | None
    catchup: CatchUp | None
    catchup_window_seconds: int | None
    jitter_seconds: int | None
    retry: RetryRecord | None
    success_exit_codes: list[int] | None
    history_limit: int | None
    history_days: int | None
    log_max_bytes: int | None
    start_at: Time | None
    end_at: Time | None
    paused_until: Time | None
    auto_disable_after: int | None
    tags: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJobSummary(JobFields):
    """Job, as returned in lists."""

    id: str
    source: JobSource
    file: Annotated[str | None, "File in `cron.d` that defines the job."]
    problem: Annotated[str | None, "Reason why the current file was rejected."]
    state: JobState
    schedule_text: str | None
    next_run_at: Time | None
    last_run: RunSummary | None
    recent: Annotated[list[RecentRun], "Newest 30 runs that started."]
    consecutive_failures: int
    success_rate_30d: float | None
    duration_p50_ms: int | None
    duration_p95_ms: int | None
    paused_reason: str | None
    created_at: Time
    updated_at: Time
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJobRecord(CronJobSummary):
    """Job with its next runs."""

    next_runs: list[UpcomingInstant]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPreviewRecord(JobFields):
    """Effect of a definition; the job is not stored."""

    schedule_text: str
    next_runs: list[UpcomingInstant]
    warnings: list[str]


class DisableJob(RequestModel):
    """Options for disabling a job."""

    reason: str = Field(default="", max_length=500, description="Reason to show with the job.")
    until: GivenTime | None = Field(default=None, description="Time at which the schedule is enabled again.")
    cancel_running: bool = Field(default=False, description="Cancel running and waiting runs.")


class RunJob(RequestModel):
    """Options for running a job now."""

    params: dict[str, Param] = Field(default={}, description="Parameters of this run.")
    dry_run: bool = Field(default=False, description="Only report what would run.")
    force: bool = Field(default=False, description="Run even if `overlap` does not allow it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog:
    """Output of one run of a job."""

    run_id: str
    page: Flat[LogPage]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLogs(Page[RunSummary]):
    """Runs of a job, and the output of one of them."""

    log: Annotated[JobLog | None, "Log of the requested run, or of the newest one that started."]


JobId = Annotated[str, Path(alias="id", description="ID or name of the job.")]
JobSort = Literal["name", "next_run_at", "updated_at", "created_at"]
StreamWord = Literal["all", "stdout", "stderr"]
