"""What watchers are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCommand, Subsystem
from tocsin.features.watchers.audit_actions import (
    WATCHER_DISABLE,
    WATCHER_ENABLE,
    WATCHER_ERROR,
    WATCHER_RUN,
    WATCHERS,
)
from tocsin.features.watchers.schema import MIGRATIONS

FEATURE = Feature(
    name="watchers",
    package=__package__,
    summary="rules that run an action when files in a folder change",
    page="watchers.md",
    tables={"watchers": MIGRATIONS},
    audit_actions=(WATCHER_RUN, WATCHER_ENABLE, WATCHER_DISABLE, WATCHER_ERROR),
    audit_sources=(WATCHERS,),
    commands=(FeatureCommand("watchers", "list, run, enable and disable the rules for changed files"),),
    subsystems=(Subsystem("watchers", "Watchers", 900, "watchers"),),
    run_kinds=("watcher",),
)
