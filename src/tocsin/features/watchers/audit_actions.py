"""The audit entries of watchers."""

from tocsin.core.audit.actions import ACTOR, DURATION_MS, OK, REASON, RUN, STATUS, AuditAction, AuditField, AuditSource

_WATCHER = AuditField("watcher", "the name of the rule")
_EVENT = AuditField("file_event", "`created`, `modified`, `deleted` or `moved`")
_PATH = AuditField("path", "the file")
_TRIGGER = AuditField("trigger", "what started the run")

WATCHER_RUN = AuditAction(
    "watcher.run",
    "A watcher has acted.",
    (_WATCHER, _EVENT, _PATH, RUN, _TRIGGER, ACTOR, STATUS, OK, DURATION_MS),
    (),
    "never its command and output",
)
WATCHER_ENABLE = AuditAction("watcher.enable", "A watcher was enabled.", (_WATCHER,))
WATCHER_DISABLE = AuditAction("watcher.disable", "A watcher was disabled.", (_WATCHER,))
WATCHER_ERROR = AuditAction("watcher.error", "A watcher cannot watch its folder.", (_WATCHER, OK, REASON))

WATCHERS = AuditSource("watchers", "the service that watches folders", (RUN,))
