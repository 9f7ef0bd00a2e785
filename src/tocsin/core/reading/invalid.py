"""The error of a record whose fields are wrong."""

from collections.abc import Sequence
from typing import ClassVar

from tocsin.core.errors import ConfigError
from tocsin.core.reading.json_value import JsonIssue


class InvalidRecordError(ConfigError):
    """A record is wrong; `issues` are the first of `count` mistakes, where they are in fields."""

    code: ClassVar[str] = "validation-failed"

    def __init__(self, message: str, *, hint: str = "", issues: Sequence[JsonIssue] = (), count: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.issues = issues
        self.count = max(count, len(issues))
