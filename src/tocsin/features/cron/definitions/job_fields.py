"""The fields of a job as people write them: in a file, over the API, and as options."""

from collections.abc import Mapping
from typing import Any

from tocsin.core.expressions.template import placeholder_problem
from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    Field,
    IntegerType,
    ListType,
    MappingType,
    NumberType,
    PlainType,
    RecordType,
    TextType,
)
from tocsin.core.reading.value import V
from tocsin.core.text.shell import params_problem
from tocsin.core.time.timestamps import seconds_of
from tocsin.features.cron.model import JobDefinition, JobRetry, JobType, OutputOn
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.missed import CatchUp
from tocsin.scheduling.overlap import Overlap
from tocsin.scheduling.schedule import read_schedule

# One line that people can read, and that no command line takes for an option.
NAME_RULE = r"(?![\s-])[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{1,100}(?<!\s)"
_EXIT_CODES = ListType(IntegerType(0, 255))


def _time(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise ValueError(f"expected {error}") from None


def _output_on(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    for word in words:
        if word not in set(OutputOn):
            raise ValueError(f"expected one or more of: {', '.join(OutputOn)}")
    return words


_OUTPUT_ON = TextType(parse=_output_on, schema={"default": str(OutputOn.ALWAYS)})
RETRY = RecordType(
    (
        Field("max_attempts", IntegerType(1, 100), default=1, doc="Maximum number of attempts"),
        Field("delay_seconds", IntegerType(0, 86_400), default=60, doc="Delay before the second attempt"),
        Field("backoff", NumberType(1, 10), default=2.0, doc="Factor for each further delay"),
        Field("max_delay_seconds", IntegerType(0, 86_400), default=3600, doc="Maximum delay"),
        Field("on_exit_codes", _EXIT_CODES, default=(), doc="Exit codes to retry after; empty means any"),
    ),
    name="Retry",
)
JOB = RecordType(
    (
        Field(
            "name",
            TextType(
                pattern=NAME_RULE,
                rule="not a valid name: use 1 to 100 characters on one line, not starting with a dash",
            ),
            doc="Unique",
        ),
        Field("description", TextType(blank=True, max_chars=500), default="", doc="Description"),
        Field("schedule", TextType(max_chars=200), required=True, doc="Schedule"),
        Field("timezone", TextType(), nullable=True, doc="IANA time zone (default: that of the server)"),
        Field("type", ChoiceType(tuple(JobType)), default="shell", doc="Type of the command"),
        Field("command", TextType(max_chars=100_000), required=True, doc="Command, workflow, skill, prompt or text"),
        Field("params", MappingType(PlainType()), default={}, doc="Parameters of the workflow, skill or prompt"),
        Field(
            "env",
            MappingType(
                TextType(blank=True, max_chars=100_000), r"[A-Za-z_][A-Za-z0-9_]*", "not a valid variable name", 500
            ),
            default={},
            doc="Environment variables; `${vault:NAME}` is a secret of the vault",
        ),
        Field(
            "working_dir",
            TextType(blank=True, max_chars=4096),
            default="",
            doc="Working directory (default: the data directory)",
        ),
        Field("enabled", BooleanType(), default=True, doc="Whether the schedule is enabled"),
        Field("output", TextType(), nullable=True, doc="Destination of the output: `<channel>:<target>` or a profile"),
        Field("output_on", _OUTPUT_ON, default=("always",), doc="Results after which the output is sent"),
        Field("timeout_seconds", IntegerType(0, 86_400), default=3600, doc="Time limit; 0 is unlimited"),
        Field("overlap", ChoiceType(tuple(Overlap)), default="skip", doc="Policy if the previous run is still running"),
        Field(
            "max_queued", IntegerType(1, 1000), default=1, doc="Maximum number of waiting runs with `overlap: queue`"
        ),
        Field(
            "max_parallel",
            IntegerType(1, 1000),
            default=1,
            doc="Maximum number of parallel runs with `overlap: parallel`",
        ),
        Field("catchup", ChoiceType(tuple(CatchUp)), nullable=True, doc="Policy for missed runs"),
        Field(
            "catchup_window_seconds",
            IntegerType(0, 366 * 86_400),
            default=3600,
            doc="Maximum age of a missed run to catch up on",
        ),
        Field(
            "jitter_seconds", IntegerType(0, 3600), default=0, doc="Maximum delay of the start; constant for each job"
        ),
        Field("retry", RETRY, doc="Retry policy"),
        Field("success_exit_codes", ListType(IntegerType(0, 255), allow_empty=False), default=(0,), doc="Success"),
        Field("history_limit", IntegerType(1, 100_000), default=200, doc="Number of runs to keep"),
        Field("history_days", IntegerType(1, 3650), default=30, doc="Days to keep runs"),
        Field(
            "log_max_bytes", IntegerType(1024, 2**30), default=1_048_576, doc="Maximum size of the output of one run"
        ),
        Field("start_at", TextType(parse=_time), nullable=True, doc="Earliest time of a run"),
        Field("end_at", TextType(parse=_time), nullable=True, doc="Latest time of a run"),
        Field("paused_until", TextType(parse=_time), nullable=True, doc="Time until which the schedule is paused"),
        Field(
            "auto_disable_after",
            IntegerType(0, 1000),
            default=0,
            doc="Failures in a row after which the job is disabled; 0 means never",
        ),
        Field("tags", ListType(TextType(max_chars=50)), default=(), doc="Tags, at most 20"),
    ),
    name="CronJob",
)


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
