"""What watchers are to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand
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
    summary="rules that act when files in a folder change",
    page="watchers.md",
    tables={"watchers": MIGRATIONS},
    audit_actions=(WATCHER_RUN, WATCHER_ENABLE, WATCHER_DISABLE, WATCHER_ERROR),
    audit_sources=(WATCHERS,),
    commands=(
        FeatureCommand(
            "watchers",
            "list, try and switch the rules that act when files change",
            "tocsin.features.watchers.commands:configure_watchers",
        ),
    ),
    open="tocsin.features.watchers.opening:open_watchers",
    checks=(FeatureCheck("tocsin.features.watchers.checks:check_watchers", at_start=True),),
    subsystems={"watchers": "tocsin.features.watchers.opening:subsystem_of"},
    schedulers=("tocsin.features.watchers.opening:service_of",),
    dashboard_routes="tocsin.features.watchers.routes:watcher_operations",
    hourly="tocsin.features.watchers.opening:prune",
    run_types={"watcher": "tocsin.features.watchers.opening:run_type_of"},
    starts={"watcher": "tocsin.features.watchers.opening:start_watcher"},
    subjects={"watcher": "tocsin.features.watchers.opening:list_watchers"},
)
