"""Maps the severity words of all products to severities."""

from colorsys import rgb_to_hsv
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


def severity_of_colour(rgb: int) -> DoorSeverity | None:
    """Return the severity that a colour stands for: red, orange and yellow, or green; `None` for others."""
    hue, saturation, _ = rgb_to_hsv(*(each / 255 for each in (rgb & 0xFFFFFF).to_bytes(3, "big")))
    if saturation < 0.4:  # greys and pastels mean nothing
        return None
    degrees = hue * 360
    if degrees < 20 or degrees > 340:
        return DoorSeverity.CRITICAL
    if degrees < 70:
        return DoorSeverity.WARNING
    return DoorSeverity.OK if 80 < degrees < 170 else None
