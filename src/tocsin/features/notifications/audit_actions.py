"""The audit actions of notifications."""

from tocsin.core.audit.actions import AuditAction, AuditField

_ID = AuditField("notification", "ID of the notification")
_LEVEL = AuditField("level", "`info`, `success`, `warning` or `error`")
_CATEGORY = AuditField("category", "category, for example `cron` or `security`")
_COUNT = AuditField("count", "number of occurrences within a day")
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
NOTIFICATION_DELETE = AuditAction("notification.delete", "A notification was deleted.", (_ID,))
