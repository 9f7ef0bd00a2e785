"""The audit entries of watchers."""

from tocsin.core.audit.actions import ENDED_RUN, OK, REASON, RUN, AuditAction, AuditField, AuditSource

_WATCHER = AuditField("watcher", "name of the rule")
_EVENT = AuditField("file_event", "`created`, `modified`, `deleted` or `moved`")
_PATH = AuditField("path", "the file")

WATCHER_RUN = AuditAction(
    "watcher.run",
    "The action of a watcher ran.",
    (_WATCHER, _EVENT, _PATH, *ENDED_RUN),
    (),
    "The command and output are not recorded.",
)
WATCHER_ENABLE = AuditAction("watcher.enable", "A watcher was enabled.", (_WATCHER,))
WATCHER_DISABLE = AuditAction("watcher.disable", "A watcher was disabled.", (_WATCHER,))
WATCHER_ERROR = AuditAction("watcher.error", "A watcher cannot watch its folder.", (_WATCHER, OK, REASON))

WATCHERS = AuditSource("watchers", "the service that watches folders", (RUN,))
