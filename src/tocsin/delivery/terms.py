"""When and how a message may be sent, as fields of a request or of a bus entry."""

from tocsin.core.reading.fields import Field, TextType
from tocsin.core.time.timestamps import read_timestamp
from tocsin.delivery.model import Policy

POLICIES = tuple(map(str, Policy))
TIME = TextType(
    blank=True,
    parse=read_timestamp,
    schema={"anyOf": [{"format": "date-time"}, {"pattern": r"^[0-9]{1,11}(\.[0-9]+)?$"}]},
)
NOT_BEFORE = Field("not_before", TIME, doc="RFC 3339 or Unix seconds.")
EXPIRES_AT = Field("expires_at", TIME, doc="RFC 3339 or Unix seconds.")
