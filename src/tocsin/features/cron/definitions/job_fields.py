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
            raise ValueError(f"expected one or several of: {', '.join(OutputOn)}")
    return words


_OUTPUT_ON = TextType(parse=_output_on, schema={"default": str(OutputOn.ALWAYS)})
RETRY = RecordType(
    (
        Field("max_attempts", IntegerType(1, 100), default=1, doc="How often a run is tried in all"),
        Field("delay_seconds", IntegerType(0, 86_400), default=60, doc="The wait before the second try"),
        Field("backoff", NumberType(1, 10), default=2.0, doc="By what each further wait is longer"),
        Field("max_delay_seconds", IntegerType(0, 86_400), default=3600, doc="The longest wait"),
        Field("on_exit_codes", _EXIT_CODES, default=(), doc="Only after these; empty is after any"),
    ),
    name="Retry",
)
JOB = RecordType(
    (
        Field(
            "name",
            TextType(pattern=NAME_RULE, rule="not a name: write 1 to 100 characters on one line, the first no dash"),
            doc="Unique",
        ),
        Field("description", TextType(blank=True, max_chars=500), default="", doc="What it is for"),
        Field("schedule", TextType(max_chars=200), required=True, doc="When it runs"),
        Field("timezone", TextType(), nullable=True, doc="An IANA name; the server's zone without it"),
        Field("type", ChoiceType(tuple(JobType)), default="shell", doc="What the command is"),
        Field("command", TextType(max_chars=100_000), required=True, doc="Command, workflow, skill, prompt or text"),
        Field("params", MappingType(PlainType()), default={}, doc="Parameters of what is run"),
        Field(
            "env",
            MappingType(
                TextType(blank=True, max_chars=100_000), r"[A-Za-z_][A-Za-z0-9_]*", "not a name of a variable", 500
            ),
            default={},
            doc="Variables; `${vault:NAME}` is a value of the vault",
        ),
        Field(
            "working_dir",
            TextType(blank=True, max_chars=4096),
            default="",
            doc="Where a command runs; empty: the data directory",
        ),
        Field("enabled", BooleanType(), default=True, doc="Whether it runs at its times"),
        Field("output", TextType(), nullable=True, doc="`<channel>:<target>` or a profile"),
        Field("output_on", _OUTPUT_ON, default=("always",), doc="After which runs"),
        Field("timeout_seconds", IntegerType(0, 86_400), default=3600, doc="0 is no limit"),
        Field("overlap", ChoiceType(tuple(Overlap)), default="skip", doc="When the previous run still runs"),
        Field("max_queued", IntegerType(1, 1000), default=1, doc="Runs that wait with `overlap: queue`"),
        Field("max_parallel", IntegerType(1, 1000), default=1, doc="Runs at a time with `overlap: parallel`"),
        Field("catchup", ChoiceType(tuple(CatchUp)), nullable=True, doc="What becomes of missed runs"),
        Field("catchup_window_seconds", IntegerType(0, 366 * 86_400), default=3600, doc="Older ones stay missed"),
        Field("jitter_seconds", IntegerType(0, 3600), default=0, doc="A delay up to this, always the same for a job"),
        Field("retry", RETRY, doc="After a failure"),
        Field("success_exit_codes", ListType(IntegerType(0, 255), allow_empty=False), default=(0,), doc="Success"),
        Field("history_limit", IntegerType(1, 100_000), default=200, doc="Runs that are kept"),
        Field("history_days", IntegerType(1, 3650), default=30, doc="For how long they are kept"),
        Field("log_max_bytes", IntegerType(1024, 2**30), default=1_048_576, doc="Of the output of one run"),
        Field("start_at", TextType(parse=_time), nullable=True, doc="No run before"),
        Field("end_at", TextType(parse=_time), nullable=True, doc="No run after"),
        Field("paused_until", TextType(parse=_time), nullable=True, doc="No run before, for now"),
        Field("auto_disable_after", IntegerType(0, 1000), default=0, doc="Failures in a row; 0 is never"),
        Field("tags", ListType(TextType(max_chars=50)), default=(), doc="At most 20"),
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
