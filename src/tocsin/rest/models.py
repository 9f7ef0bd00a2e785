"""The models of problems and receipts, and times in requests."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from tocsin.rest.problems import PROBLEMS

MAX_NAME = 100
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"


class RecordReceipt(BaseModel):
    """Receipt of a created, started or changed record, for tokens without the scope `read`."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = None
    key: str | None = None
    run_id: str | None = None
    conversation_id: str | None = None
    kind: str | None = None
    status: str | None = None
    enabled: bool | None = None


class FieldProblem(BaseModel):
    """Error in one value."""

    model_config = ConfigDict(extra="allow")

    code: str = Field(description="Error code for programs, for example `unknown-key`.")
    detail: str = Field(description="Error message for people.")
    pointer: str | None = Field(default=None, description="JSON pointer to the invalid value in the body.")
    parameter: str | None = Field(default=None, description="Name of the invalid query or path parameter.")
    suggestion: str | None = Field(default=None, description="Suggested correction.")


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="Problem type, a URI reference: `/problems/` and the code.")
    title: str
    status: int
    detail: str
    instance: str
    code: str = Field(description="Error code for programs.", json_schema_extra={"enum": [*sorted(PROBLEMS)]})
    request_id: str
    errors: list[FieldProblem] = []


def _seconds(value: object) -> object:
    """Parse a time as Unix seconds."""
    if not isinstance(value, str) or len(value) > 40:
        raise ValueError("Must be a time such as 2026-12-01T09:00:00Z")
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("Must be a time such as 2026-12-01T09:00:00Z") from None
    if at.tzinfo is None:
        raise ValueError("Must end with a time zone, such as Z or +02:00")
    return at.timestamp()


# Unix seconds internally, RFC 3339 in requests.
GivenTime = Annotated[
    float,
    BeforeValidator(_seconds),
    PlainSerializer(lambda seconds: datetime.fromtimestamp(seconds, UTC).isoformat(), when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
