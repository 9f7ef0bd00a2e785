"""The records of the gateway's requests and responses, from which its OpenAPI document is generated."""

from tocsin.channels.content import CONTENT
from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    Field,
    FieldType,
    IntegerType,
    ListType,
    MappingType,
    NumberType,
    RecordType,
    TextType,
)
from tocsin.delivery.terms import EXPIRES_AT, NOT_BEFORE, POLICIES
from tocsin.rest.problems import PROBLEMS

TEXT = TextType(blank=True)
COUNT = IntegerType()
BACKEND = ChoiceType(("sqlite", "redis"))
HEALTH_STATUS = ChoiceType(("ok", "failing"))


def _always(name: str, type_: FieldType, *, nullable: bool = False) -> Field:
    return Field(name, type_, required=True, nullable=nullable)


def _answer(name: str, *fields: Field) -> RecordType:
    return RecordType(fields, name, closed=False)


# Requests

CHANNEL = Field("channel", TEXT, required=True, doc="Channel, or an alias")
TARGET = Field("target", TEXT, required=True, doc="Target of the message on the channel")
MESSAGE = Field("message", TEXT, required=True, doc="Text of the message")
TERMS = (
    Field("policy", ChoiceType(POLICIES), doc="Policy for attempts with an unknown outcome."),
    NOT_BEFORE,
    EXPIRES_AT,
)

PROFILE = Field("profile", TEXT, required=True, doc="Notification profile, instead of channel and target")
FORMAT = (
    Field("format", TEXT, doc="`plain`, `markdown` (CommonMark), `native`, or one of the channel's parse modes"),
    Field("parse_mode", TEXT, doc="Alias of `format`"),
)
_SAID = (MESSAGE, *FORMAT, *CONTENT.fields)

MESSAGE_FIELDS = (CHANNEL, TARGET, MESSAGE)  # of a plain text
SEND_REQUEST = RecordType((CHANNEL, TARGET, *_SAID), "SendRequest")
QUEUE_REQUEST = RecordType((*SEND_REQUEST.fields, *TERMS), "QueueRequest")
PROFILE_REQUEST = RecordType((PROFILE, *_SAID), "ProfileRequest")

WITHDRAWAL_QUERY = RecordType((Field("target", TextType(), required=True, doc="Target that the message was sent to"),))

# Answers

HEALTH = _answer(
    "Health",
    _always("status", ChoiceType(("ok", "degraded", "draining"))),
    _always("version", TEXT),
    _always("instance", TEXT),
    _always("queue", _answer("", _always("backend", BACKEND), _always("status", HEALTH_STATUS))),
    _always("inbox", _answer("", _always("status", HEALTH_STATUS), _always("open", COUNT))),
    _always("bus", _answer("", _always("status", ChoiceType(("off", "ok", "failing"))))),
    _always("channels", MappingType(ChoiceType(("configured", "unconfigured")))),
    Field("problems", ListType(TEXT)),
    Field("failing", MappingType(TEXT)),
    Field("throttled", MappingType(TEXT)),
    Field(
        "bot",
        _answer(
            "",
            _always("mode", TEXT),
            _always("status", TEXT),
            _always("age_s", NumberType(), nullable=True),
            _always("chat_model", ChoiceType(("off", "ok", "failing"))),
        ),
    ),
)
FAN_OUT = _answer(
    "FanOut",
    _always("ok", BooleanType()),
    _always("profile", TEXT),
    _always(
        "results",
        ListType(
            _answer(
                "",
                _always("ok", BooleanType()),
                *(_always(name, TEXT) for name in ("channel", "target", "message", "error")),
            )
        ),
    ),
)
FIELD_ERROR = _answer(
    "",
    Field("pointer", TEXT, required=True, doc="JSON pointer to the invalid field, as a URL fragment"),
    Field("code", TEXT, required=True),
    Field("detail", TEXT, required=True),
    Field("key", TEXT, required=True),
    Field("suggestion", TEXT, doc="Suggested key"),
)
PROBLEM = _answer(
    "Problem",
    _always("type", TEXT),
    _always("title", TEXT),
    _always("status", IntegerType(400, 599)),
    _always("detail", TEXT),
    _always("instance", TEXT),
    _always("code", ChoiceType(tuple(sorted(PROBLEMS)))),
    _always("request_id", TEXT),
    Field("errors", ListType(FIELD_ERROR)),
)
