"""The keys of a workflow file as data: they are read, suggested, documented and published from here."""

from tocsin.core.reading.fields import (
    AnyType,
    BooleanType,
    ChoiceType,
    DurationType,
    Field,
    IntegerType,
    ListType,
    MappingType,
    NumberType,
    OneOrManyType,
    RecordType,
    TextType,
)
from tocsin.features.workflows.language.model import ALIASES, StepType

STEP_NAME = r"[a-z0-9][a-z0-9_-]{0,62}"
WORKFLOW_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
WORD = r"[A-Za-z_][A-Za-z0-9_]*"
DAY_S, MONTH_S = 86_400.0, 31 * 86_400.0
OVERLAPS = ("skip", "queue", "parallel", "replace")
NOTIFY_ON = ("success", "failure", "recovery", "always")
PARAM_TYPES = ("string", "integer", "number", "boolean", "list")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TYPES = (*map(str, StepType), *ALIASES)
LISTS = ("steps", "on_success", "on_failure", "on_finish")

_NAME = TextType(
    pattern=STEP_NAME,
    rule="not a valid step name: use small letters, digits, '-' and '_', at most 63, the first one no sign",
)
_APPROVER = TextType(
    pattern=r"chat:-?[^\s:]+|token:[A-Za-z0-9][A-Za-z0-9._-]*|(?!-?[0-9]+$)[^\s:]([^:]*[^\s:])?",
    rule="not an approver: use chat:ID, token:NAME, or a user name of the dashboard",
)
_ENV = MappingType(TextType(blank=True), WORD, "not a variable: use letters, digits and '_'")
_RETRY = RecordType(
    (
        Field("max_attempts", IntegerType(1, 100), default=1, doc="How often the step is tried in all"),
        Field("delay", DurationType(0, DAY_S), default=10.0, doc="The first pause"),
        Field("backoff", NumberType(1, 10), default=2.0, doc="By how much each pause is longer than the one before"),
        Field("max_delay", DurationType(0, DAY_S), default=300.0, doc="The longest pause"),
        Field("on_exit_codes", ListType(IntegerType(0, 255)), doc="Try again only after these exit codes"),
    ),
    doc="When a failed step is tried again",
)
_PARAM = RecordType(
    (
        Field("type", ChoiceType(PARAM_TYPES), default="string", doc="What the value is"),
        Field("required", BooleanType(), default=False, doc="Whether a run must be given it"),
        Field("default", AnyType(), doc="The value of a run that is not given one"),
        Field("description", TextType(blank=True), default="", doc="What it is, for a form"),
        Field("enum", ListType(AnyType(), allow_empty=False), doc="The values that are accepted"),
        Field("minimum", NumberType(), doc="The lowest number that is accepted"),
        Field("maximum", NumberType(), doc="The highest number that is accepted"),
    ),
)
_DEFAULTS = RecordType(
    (
        Field("timeout", DurationType(0, MONTH_S), doc="The time limit of each attempt"),
        Field("retry", _RETRY),
        Field("continue_on_error", BooleanType(), doc="Whether the run continues after a failure"),
        Field("working_dir", TextType(), doc="Where commands run"),
    ),
    doc="What holds for every step that does not say otherwise",
)


def _root_lists() -> tuple[Field, ...]:
    steps = {"type": "array", "items": {"$ref": "#/$defs/step"}}
    return (
        Field("steps", AnyType({**steps, "minItems": 1}), required=True, doc="Type of action"),
        Field("on_success", AnyType(steps), doc="Steps after a run that succeeded"),
        Field("on_failure", AnyType(steps), doc="Steps after a run that failed"),
        Field("on_finish", AnyType(steps), doc="Steps after every run"),
    )


WORKFLOW = RecordType(
    (
        Field(
            "name",
            TextType(
                pattern=WORKFLOW_NAME,
                rule="not a valid workflow name: use 1 to 100 letters, digits, '.', '_' or '-', "
                "the first one a letter or digit",
            ),
            required=True,
            doc="The file's name without .yaml",
        ),
        Field("description", TextType(blank=True, max_chars=500), default="", doc="Description"),
        Field("notify_profile", TextType(), doc="The notification profile that gets a summary of a run"),
        Field("notify_on", OneOrManyType(ChoiceType(NOTIFY_ON), allow_empty=False), doc="After which runs: always"),
        Field("timezone", TextType(), default="", doc="The time zone of `until` in wait steps, such as Europe/Berlin"),
        Field("timeout", DurationType(0, MONTH_S), doc="The time limit of a whole run; 0 is none"),
        Field("max_parallel", IntegerType(1, 100), default=4, doc="How many steps run at once"),
        Field("overlap", ChoiceType(OVERLAPS), default="skip", doc="What a start does while a run is active"),
        Field("parallel", BooleanType(), default=False, doc="Whether steps without depends_on start at once"),
        Field("working_dir", TextType(), default="", doc="Where commands run: the data directory"),
        Field("env", _ENV, default={}, doc="Variables of all commands"),
        Field(
            "params", MappingType(_PARAM, WORD, "not a valid parameter name: use letters, digits and '_'"), default={}
        ),
        Field("defaults", _DEFAULTS),
        *_root_lists(),
    ),
    doc="A workflow of Tocsin",
)

_COMMAND = TextType()
_COMMANDS = {
    StepType.SHELL: Field("command", OneOrManyType(TextType(), allow_empty=False), required=True, doc="The script, "
                          "where $PARAM_NAME is a value; a list is a program and its arguments, without a shell"),
    StepType.SSH: Field("command", _COMMAND, required=True, doc="The script that each host runs, "
                        "where $PARAM_NAME is a value"),
    StepType.SKILL: Field("command", _COMMAND, required=True, doc="The name of the skill"),
    StepType.PROMPT: Field("command", _COMMAND, required=True, doc="The question to the chat model"),
    StepType.NOTIFY: Field("command", _COMMAND, required=True, doc="Text of the message"),
    StepType.WORKFLOW: Field("command", _COMMAND, required=True, doc="The name of the workflow"),
}  # fmt: skip


def _common(kind: StepType) -> tuple[Field, ...]:
    command = (_COMMANDS[kind],) if kind in _COMMANDS else ()
    return (
        Field("name", _NAME, required=True, doc="Its name, unique in the file"),
        Field("type", ChoiceType(TYPES), default=str(StepType.SHELL), doc="Description"),
        *command,
        Field("description", TextType(blank=True, max_chars=500), default="", doc="Description"),
        Field("depends_on", OneOrManyType(TextType()), doc="The steps that must end before it"),
        Field("when", TextType(), doc="The condition under which it runs: success()"),
        Field("env", _ENV, default={}, doc="Variables of its command"),
        Field("working_dir", TextType(), doc="Where its command runs"),
        Field("timeout", DurationType(0, MONTH_S), doc="The time limit of each attempt; 0 is none"),
        Field("retry", _RETRY),
        Field("continue_on_error", BooleanType(), doc="Whether the run continues after its failure"),
        Field("on_interrupt", ChoiceType(("fail", "retry")), default="fail", doc="If Tocsin ends while it runs"),
        Field("outputs", MappingType(TextType(), WORD, "not a valid output name: use letters, digits and '_'"),
              default={}, doc="Values for later steps: source | filter"),
        Field("for_each", AnyType({"type": ["array", "string"]}), doc="Run it once for each value: ${item}"),
        Field("max_parallel", IntegerType(1, 100), default=1, doc="How many values or hosts are worked on at once"),
        Field("require_success", BooleanType(), default=False, doc="Whether a skipped dependency blocks it, too"),
        Field("always_run", BooleanType(), default=False, doc="Short for when: always()"),
    )  # fmt: skip


_OWN: dict[StepType, tuple[Field, ...]] = {
    StepType.SHELL: (
        Field("shell", OneOrManyType(TextType(), allow_empty=False), doc="The shell that reads the command: sh -eu"),
        Field("stdin", TextType(blank=True), doc="Its standard input"),
        Field("success_exit_codes", ListType(IntegerType(0, 255), allow_empty=False), doc="Exit codes of success: 0"),
    ),
    StepType.SSH: (
        Field("hosts", OneOrManyType(TextType(), allow_empty=False), doc="The hosts"),
        Field("groups", OneOrManyType(TextType(), allow_empty=False), doc="The groups of hosts"),
        Field("stop_on_failure", BooleanType(), default=False, doc="Whether hosts are left out after a failure"),
        Field("user", TextType(), doc="User on the host"),
    ),
    StepType.SKILL: (
        Field("args", ListType(TextType(blank=True)), doc="Its arguments"),
        Field("input", TextType(blank=True), doc="Its standard input"),
        Field("mode", ChoiceType(("sandboxed", "standard")), default="sandboxed", doc="How far it is confined"),
    ),
    StepType.PROMPT: (
        Field("system", TextType(), doc="Instructions in front of the question"),
        Field("model", TextType(), doc="The model, if not CHAT_MODEL"),
        Field("max_tokens", IntegerType(1, 1_000_000), doc="The longest answer"),
        Field("temperature", NumberType(0, 2), doc="How free the answer is"),
        Field("response_format", ChoiceType(("text", "json")), default="text", doc="`json` requires a JSON answer"),
    ),
    StepType.NOTIFY: (
        Field("profile", TextType(), doc="The notification profile"),
        Field("channel", TextType(), doc="A channel, with `target` in place of a profile"),
        Field("target", TextType(), doc="Target on the channel"),
        Field("subject", TextType(), doc="The subject of a mail"),
        Field("parse_mode", TextType(), doc="How the channel reads the text, if it knows this mode"),
        Field("required", BooleanType(), default=False, doc="Whether a message that is not sent fails the step"),
    ),
    StepType.HTTP: (
        Field("url", TextType(), required=True, doc="What to call"),
        Field("method", ChoiceType(METHODS), default="GET"),
        Field("headers", MappingType(TextType(blank=True), r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "not a valid header name")),
        Field("body", TextType(blank=True), doc="What is sent"),
        Field("json", AnyType({}), doc="What is sent, as JSON"),
        Field("expect_status", OneOrManyType(IntegerType(100, 599), allow_empty=False), doc="Success: 200 to 299"),
        Field("expect_body", TextType(), doc="A pattern that the answer must match"),
    ),
    StepType.WAIT: (
        Field("duration", DurationType(0, MONTH_S), doc="How long"),
        Field("until", TextType(), doc="Until when: 18:00 or 2026-12-01T09:00"),
        Field("approval", BooleanType(), doc="Until a person approves"),
        Field("message", TextType(), doc="What is to be approved"),
        Field("approvers", OneOrManyType(_APPROVER, allow_empty=False), doc="Who alone may, such as chat:7"),
        Field("not_by_starter", BooleanType(), default=False, doc="Whether the one who started the run may not"),
        Field("on_timeout", ChoiceType(("fail", "continue")), default="fail", doc="What the end of `timeout` means"),
    ),
    StepType.WORKFLOW: (
        Field("params", MappingType(AnyType({}), WORD, "not a valid parameter name"), doc="Its parameters"),
    ),
}  # fmt: skip

STEPS = {kind: RecordType((*_common(kind), *_OWN[kind]), doc=f"A step of the type {kind}") for kind in StepType}
_EVERY = {each.name: Field(each.name, each.type) for record in STEPS.values() for each in record.fields}
# For a step of an unknown type: what another mistake hides is not reported as well.
UNTYPED = RecordType((Field("name", _NAME, required=True), *(f for n, f in _EVERY.items() if n != "name")))


def owners_of(key: str) -> list[str]:
    """Return the types of steps that have a key."""
    return [str(kind) for kind, record in STEPS.items() if any(each.name == key for each in record.fields)]
