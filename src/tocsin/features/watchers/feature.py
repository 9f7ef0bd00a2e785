"""The declaration of watchers."""

from tocsin.core.audit.actions import ENDED_RUN, OK, REASON, RUN, AuditAction, AuditField, AuditSource
from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile
from tocsin.features.watchers.schema import MIGRATIONS

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

WATCHERS_FILE = WrittenFile("watchers", "watchers.yaml", "rules for changed files", f"{__package__}.rules:RULES")

FEATURE = Feature(
    name="watchers",
    package=__package__,
    summary="rules that run an action when files in a folder change",
    page="watchers.md",
    files=(WATCHERS_FILE,),
    tables={"watchers": MIGRATIONS},
    audit_actions=(WATCHER_RUN, WATCHER_ENABLE, WATCHER_DISABLE, WATCHER_ERROR),
    audit_sources=(WATCHERS,),
    commands=(FeatureCommand("watchers", "list, run, enable and disable the rules for changed files"),),
    subsystems=(Subsystem("watchers", "Watchers", 900, "watchers"),),
    run_kinds=("watcher",),
)
