"""The declaration of the notifications feature."""

from tocsin.features.contract import Feature, FeatureCommand, LiveTopic
from tocsin.features.notifications.audit_actions import (
    NOTIFICATION_CREATE,
    NOTIFICATION_DELETE,
    NOTIFICATION_READ,
)
from tocsin.features.notifications.schema import MIGRATIONS
from tocsin.features.notifications.settings import NOTIFY_LEVEL, NOTIFY_PROFILE, QUIET_HOURS
from tocsin.terminal.command_table import RECORDS

FEATURE = Feature(
    name="notifications",
    package=__package__,
    summary="notifications for the operator: stored, forwarded to a profile and available as a feed",
    page="notifications.md",
    variables=(NOTIFY_PROFILE, NOTIFY_LEVEL, QUIET_HOURS),
    tables={"notifications": MIGRATIONS},
    audit_actions=(NOTIFICATION_CREATE, NOTIFICATION_READ, NOTIFICATION_DELETE),
    commands=(
        FeatureCommand(
            "notifications", "list, show, mark and delete notifications, and print them as a feed", group=RECORDS
        ),
    ),
    live=(LiveTopic("notifications", "notification", tells_new=True),),
    provides=("notices",),
)
