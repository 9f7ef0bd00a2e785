"""The audit entries of browser profiles."""

from tocsin.core.audit.actions import OK, REASON, AuditAction, AuditField

_PROFILE = AuditField("profile", "name of the profile")
_PID = AuditField("pid", "process ID of the browser, or `null` if none was started")
_PORT = AuditField("port", "debugging port on 127.0.0.1, or `null` if it did not open")
_FORCED = AuditField("forced", "whether the browser had to be killed")
_FORGOTTEN = AuditField(
    "forgotten",
    "whether only the record was removed, for a browser on another machine or a browser that no longer exists",
)

BROWSER_START = AuditAction(
    "browser.start", "The browser of a profile was started.", (_PROFILE, _PID, _PORT, OK), (REASON,)
)
BROWSER_STOP = AuditAction(
    "browser.stop", "The browser of a profile was stopped.", (_PROFILE, _PID, _FORCED, _FORGOTTEN)
)
