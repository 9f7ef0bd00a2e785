"""The declaration of the notifications feature."""

from tocsin.core.audit.actions import CHANNEL, TARGET, AuditAction, AuditField
from tocsin.features.contract import Feature, FeatureCommand, LiveTopic
from tocsin.features.notifications.schema import MIGRATIONS
from tocsin.features.notifications.settings import NOTIFY_LEVEL, NOTIFY_PROFILE, QUIET_HOURS
from tocsin.terminal.command_table import RECORDS

_ID = AuditField("notification", "ID of the notification")
_LEVEL = AuditField("level", "`info`, `success`, `warning` or `error`")
_CATEGORY = AuditField("category", "category, for example `cron` or `security`")
_COUNT = AuditField("count", "number of occurrences within a day")
_PROFILE = AuditField("profile", "name of the profile")
_READ = AuditField("read", "number of notifications marked as read")

NOTIFICATION_CREATE = AuditAction(
    "notification.create",
    "A notification was stored, or counted with an equal one of the last 24 hours.",
    (_ID, _LEVEL, _CATEGORY, _COUNT),
    note="The title and text are not recorded.",
)
NOTIFICATION_READ = AuditAction(
    "notification.read",
    "Notifications were marked as read.",
    (_READ,),
    (_ID, _CATEGORY),
    "`notification` if it was a single one, `category` if only that category was marked",
)
NOTIFICATION_TARGET = AuditAction(
    "notification.target", "A target was added to the receivers of notices.", (_PROFILE, CHANNEL, TARGET)
)
NOTIFICATION_DELETE = AuditAction("notification.delete", "A notification was deleted.", (_ID,))

FEATURE = Feature(
    name="notifications",
    package=__package__,
    summary="notifications for the operator: stored, forwarded to a profile and available as a feed",
    page="notifications.md",
    variables=(NOTIFY_PROFILE, NOTIFY_LEVEL, QUIET_HOURS),
    tables={"notifications": MIGRATIONS},
    audit_actions=(NOTIFICATION_CREATE, NOTIFICATION_READ, NOTIFICATION_DELETE, NOTIFICATION_TARGET),
    commands=(
        FeatureCommand(
            "notifications", "list, show, mark and delete notifications, and print them as a feed", group=RECORDS
        ),
    ),
    live=(LiveTopic("notifications", "notification", tells_new=True),),
    provides=("notices",),
)
