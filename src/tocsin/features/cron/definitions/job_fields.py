"""Read definitions of jobs from files and the API, and check fields that depend on each other."""

from collections.abc import Mapping
from typing import Any

from tocsin.core.expressions.template import placeholder_problem
from tocsin.core.reading.value import V
from tocsin.core.text.shell import params_problem
from tocsin.features.cron.model import JOB, JobDefinition, JobRetry, JobType
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.missed import CatchUp
from tocsin.scheduling.schedule import read_schedule


def read_definition(value: V, zone: str, usual_name: str = "") -> JobDefinition:
    """Return the definition that a record holds; mistakes are reported to its reader.

    `zone` is that of a job that names none.
    """
    read = JOB.read(value)
    given, values = read.given, dict(read.values)
    if not values.get("name"):
        values["name"] = usual_name
        if not usual_name and given["name"].absent:
            given["name"].refuse_missing()
    values["timezone"] = values.get("timezone") or zone
    usual_catchup = CatchUp.NONE if values.get("type") == JobType.PROMPT else CatchUp.LATEST
    values["catchup"] = values.get("catchup") or usual_catchup
    retry = values.pop("retry", None)
    values["retry"] = JobRetry(**retry.values) if retry else JobRetry()
    if len(values.get("tags", ())) > 20:
        given["tags"].refuse("expected at most 20 tags")
    if values.get("type") == JobType.MESSAGE and not values.get("output"):
        given["type"].refuse("a message needs an output: <channel>:<target> or a profile")
    if values.get("type", JobType.SHELL) == JobType.SHELL:
        if problem := placeholder_problem(values.get("command") or "", has_env=True):
            given["command"].refuse(problem)
        if problem := params_problem(values.get("params") or {}, values.get("env") or {}):
            given["params"].refuse(problem)
    _check_schedule(values, given)
    return JobDefinition(**{name: each for name, each in values.items() if each is not None})


def _check_schedule(values: Mapping[str, Any], given: Mapping[str, V]) -> None:
    if not values.get("schedule"):
        return
    try:
        read_schedule(values["schedule"], "UTC", 0.0)
    except ScheduleError as error:
        given["schedule"].refuse(error.sentence(), "bad-cron")
        return
    try:
        read_schedule(values["schedule"], values["timezone"], 0.0)
    except ScheduleError as error:
        given["timezone"].refuse(error.sentence(), "bad-zone")
