"""What operations on cron jobs take and answer."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import WithJsonSchema

from tocsin.core.reading.fields import MappingType, PlainType
from tocsin.core.reading.json_schema import patch_schema, record_schema, without_names
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Flat
from tocsin.features.cron.model import JOB, RETRY, Param
from tocsin.rest.bodies import FLAG, MOMENT, RequestBody, text
from tocsin.rest.models import GivenTime
from tocsin.rest.pages import Page
from tocsin.runs.log_file import LogPage
from tocsin.runs.model import RunSummary


def _definition_schema() -> dict[str, Any]:
    schema = record_schema(without_names(JOB))
    schema["required"] = ["name", *schema["required"]]
    return schema


def _patch_of_a_definition() -> dict[str, Any]:
    schema = patch_schema(JOB, always=["name"])
    schema["properties"]["retry"] = {"anyOf": [patch_schema(RETRY), {"type": "null"}]}
    return schema


# Read by the feature's own rules, which are those of its files; they tell all mistakes at once.
JobBody = Annotated[dict[str, Any], WithJsonSchema(_definition_schema())]
JobPatch = Annotated[dict[str, Any], WithJsonSchema(_patch_of_a_definition())]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisableJob(RequestBody):
    """Options for disabling a job."""

    reason: Annotated[str, text(500), "Reason to show with the job."] = ""
    until: Annotated[GivenTime | None, MOMENT, "Time at which the schedule is enabled again."] = None
    cancel_running: Annotated[bool, FLAG, "Cancel running and waiting runs."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob(RequestBody):
    """Options for running a job now."""

    params: Annotated[dict[str, Param], Written(MappingType(PlainType())), "Parameters of this run."] = field(
        default_factory=dict
    )
    dry_run: Annotated[bool, FLAG, "Only report what would run."] = False
    force: Annotated[bool, FLAG, "Run even if `overlap` does not allow it."] = False


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
