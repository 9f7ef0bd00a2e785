"""What notifications are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand, LiveTopic
from tocsin.features.notifications.audit_actions import (
    NOTIFICATION_CREATE,
    NOTIFICATION_DELETE,
    NOTIFICATION_READ,
)
from tocsin.features.notifications.schema import MIGRATIONS
from tocsin.features.notifications.settings import NOTIFY_LEVEL, NOTIFY_PROFILE, QUIET_HOURS
from tocsin.terminal.command_table import RECORDS

_FOLDER = "tocsin.features.notifications"

FEATURE = Feature(
    name="notifications",
    summary="what the operator should know: kept, forwarded to a profile, and read as a feed",
    page="notifications.md",
    variables=(NOTIFY_PROFILE, NOTIFY_LEVEL, QUIET_HOURS),
    tables={"notifications": MIGRATIONS},
    audit_actions=(NOTIFICATION_CREATE, NOTIFICATION_READ, NOTIFICATION_DELETE),
    commands=(
        FeatureCommand(
            "notifications",
            "list, show, mark and delete notices, and print them as a feed",
            f"{_FOLDER}.commands:configure_notifications",
            group=RECORDS,
        ),
    ),
    open=f"{_FOLDER}.opening:open_notifications",
    checks=(FeatureCheck(f"{_FOLDER}.checks:check_notifications"),),
    status=f"{_FOLDER}.opening:status_of",
    services=(f"{_FOLDER}.opening:forwarder_of",),
    hourly=f"{_FOLDER}.opening:prune",
    dashboard_routes=f"{_FOLDER}.routes:notification_operations",
    live=(LiveTopic("notifications", "notification", f"{_FOLDER}.opening:live_records", tells_new=True),),
    provides={
        "notify": f"{_FOLDER}.opening:notify_of",
        "unread_notices": f"{_FOLDER}.opening:unread_of",
    },
)
