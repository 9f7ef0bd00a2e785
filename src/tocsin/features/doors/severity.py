"""What the words of all products for severity mean."""

from typing import Any

from tocsin.features.doors.model import DoorSeverity

_WORDS = {
    DoorSeverity.OK: "ok success succeeded successful resolved recovered recovery up clear cleared normal passed good",
    DoorSeverity.INFO: "info information informational notice debug none low min default",
    DoorSeverity.WARNING: "warning warn average medium moderate degraded unstable",
    DoorSeverity.CRITICAL: (
        "critical crit error err failure failed fail fatal high disaster emergency alert alerting firing problem down "
        "danger urgent max page"
    ),
}
_SEVERITIES = {word: severity for severity, words in _WORDS.items() for word in words.split()}


def severity_of(value: Any) -> DoorSeverity | None:
    """Return the severity that a word of any product means; `None` for an unknown one."""
    return _SEVERITIES.get(value.strip().lower()) if isinstance(value, str) else None
