"""The checks of `tocsin doctor` for notifications."""

from collections.abc import AsyncIterator

from tocsin.core.errors import TocsinError
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.notifications.hooks import OpenNotifications
from tocsin.features.notifications.settings import NOTIFY_LEVEL, NOTIFY_PROFILE, QUIET_HOURS
from tocsin.terminal.findings import Finding


async def check_notifications(opened: OpenNotifications) -> AsyncIterator[Finding]:
    """Check that the profile exists, and report which notices are forwarded."""
    settings = opened.context.settings
    profile, quiet = settings[NOTIFY_PROFILE], settings[QUIET_HOURS]
    if profile:
        try:
            opened.context.messenger.check_profile(profile)
        except TocsinError as error:
            fix = error.hint or "correct NOTIFY_PROFILE"
            yield Finding("error", "notifications", f"NOTIFY_PROFILE cannot be used; {error}", fix)
            return
    where = f"the profile {profile}" if profile else "the default chat of the bot, if it has one"
    held = f"; {quiet} delays levels below error" if quiet else ""
    yield Finding("ok", "notifications", f"{settings[NOTIFY_LEVEL]} and above go to {where}{held}")


CHECKS: Checks[OpenNotifications] = (FeatureCheck(check_notifications),)
