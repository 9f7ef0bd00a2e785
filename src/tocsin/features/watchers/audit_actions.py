"""The audit entries of watchers."""

from tocsin.core.audit.actions import ENDED_RUN, OK, REASON, RUN, AuditAction, AuditField, AuditSource

_WATCHER = AuditField("watcher", "the name of the rule")
_EVENT = AuditField("file_event", "`created`, `modified`, `deleted` or `moved`")
_PATH = AuditField("path", "the file")

WATCHER_RUN = AuditAction(
    "watcher.run",
    "A watcher has acted.",
    (_WATCHER, _EVENT, _PATH, *ENDED_RUN),
    (),
    "never its command and output",
)
WATCHER_ENABLE = AuditAction("watcher.enable", "A watcher was enabled.", (_WATCHER,))
WATCHER_DISABLE = AuditAction("watcher.disable", "A watcher was disabled.", (_WATCHER,))
WATCHER_ERROR = AuditAction("watcher.error", "A watcher cannot watch its folder.", (_WATCHER, OK, REASON))

WATCHERS = AuditSource("watchers", "the service that watches folders", (RUN,))
