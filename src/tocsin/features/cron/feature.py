"""What cron is to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand, LiveTopic
from tocsin.features.cron.audit_actions import (
    CRON,
    CRON_ADD,
    CRON_DISABLE,
    CRON_EDIT,
    CRON_ENABLE,
    CRON_EXECUTE,
    CRON_REMOVE,
)
from tocsin.features.cron.schema import MIGRATIONS

FEATURE = Feature(
    name="cron",
    summary="jobs on a schedule, with a record of every run, and output sent where it belongs",
    page="cron.md",
    tables={"cron": MIGRATIONS},
    audit_actions=(CRON_ADD, CRON_EDIT, CRON_REMOVE, CRON_ENABLE, CRON_DISABLE, CRON_EXECUTE),
    audit_sources=(CRON,),
    commands=(
        FeatureCommand(
            "cron", "add, list, run and follow jobs that run at times", "tocsin.features.cron.commands:configure_cron"
        ),
    ),
    open="tocsin.features.cron.opening:open_cron",
    checks=(FeatureCheck("tocsin.features.cron.checks:check_cron", at_start=True),),
    live=(LiveTopic("cron", "cron", "tocsin.features.cron.opening:live_records"),),
    subsystems={"cron": "tocsin.features.cron.opening:subsystem_of"},
    provides={"list_schedules": "tocsin.features.cron.opening:list_schedules_of"},
    run_types={"cron": "tocsin.features.cron.opening:run_type_of"},
    starts={"cron": "tocsin.features.cron.opening:start_job"},
    subjects={"cron": "tocsin.features.cron.opening:list_jobs"},
    dashboard_routes="tocsin.features.cron.routes:cron_operations",
    schedulers=("tocsin.features.cron.opening:scheduler_of",),
    profile_uses="tocsin.features.cron.opening:profile_uses",
)
