"""The audit entries of browser profiles."""

from tocsin.core.audit.actions import OK, REASON, AuditAction, AuditField

_PROFILE = AuditField("profile", "the name of the profile")
_PID = AuditField("pid", "the number of the browser's process, `null` if none was started")
_PORT = AuditField("port", "the debugging port on 127.0.0.1, `null` if it did not open")
_FORCED = AuditField("forced", "whether the browser had to be killed")
_FORGOTTEN = AuditField("forgotten", "whether only the record was removed, of a browser that runs elsewhere or nowhere")

BROWSER_START = AuditAction(
    "browser.start", "The browser of a profile was started.", (_PROFILE, _PID, _PORT, OK), (REASON,)
)
BROWSER_STOP = AuditAction(
    "browser.stop", "The browser of a profile was stopped.", (_PROFILE, _PID, _FORCED, _FORGOTTEN)
)
