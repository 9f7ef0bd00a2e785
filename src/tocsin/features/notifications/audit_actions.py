"""The audit entries of notifications."""

from tocsin.core.audit.actions import AuditAction, AuditField

_ID = AuditField("notification", "the ID of the notification")
_LEVEL = AuditField("level", "`info`, `success`, `warning` or `error`")
_CATEGORY = AuditField("category", "what it is about, such as `cron` or `security`")
_COUNT = AuditField("count", "how often it has happened within a day")
_READ = AuditField("read", "how many became read")

NOTIFICATION_CREATE = AuditAction(
    "notification.create",
    "A notice was kept, or counted with an equal one of the last 24 hours.",
    (_ID, _LEVEL, _CATEGORY, _COUNT),
    note="never its title and text",
)
NOTIFICATION_READ = AuditAction(
    "notification.read",
    "Notifications became read.",
    (_READ,),
    (_ID, _CATEGORY),
    "`notification` where it was one of them, `category` where only that became read",
)
NOTIFICATION_DELETE = AuditAction("notification.delete", "A notification was deleted.", (_ID,))
