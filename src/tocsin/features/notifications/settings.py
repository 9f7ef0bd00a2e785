"""The settings of notifications."""

from typing import TYPE_CHECKING

from tocsin.core.config.variables import Variable, choice, text

if TYPE_CHECKING:
    from tocsin.features.notifications.forwarding.quiet_hours import QuietHours


def quiet_hours(value: str) -> "QuietHours | None":
    """Parse quiet hours, with or without a time zone; `None` if empty."""
    if not value.strip():
        return None
    from tocsin.features.notifications.forwarding.quiet_hours import parse_quiet_hours

    return parse_quiet_hours(value)


NOTIFY_PROFILE = Variable(
    "NOTIFY_PROFILE",
    text,
    "",
    "Profile to which notifications are forwarded.",
    shown_default="none: the default chat of the bot, else its admin chat",
)
NOTIFY_LEVEL = Variable(
    "NOTIFY_LEVEL",
    choice("info", "warning", "error"),
    "warning",
    "Minimum level of forwarded notifications; `success` counts as `warning`, because it resolves one.",
)
QUIET_HOURS: "Variable[QuietHours | None]" = Variable(
    "QUIET_HOURS",
    quiet_hours,
    None,
    "Time range in which notifications below `error` are delayed, for example `22:00-07:00 Europe/Berlin`.",
    shown_default="none",
)
