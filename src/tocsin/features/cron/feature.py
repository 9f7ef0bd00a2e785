"""What cron is to the rest of the program."""

from tocsin.features.contract import Feature, FeatureCommand, LiveTopic, Subsystem
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
    package=__package__,
    summary="scheduled jobs, with a record of every run and delivery of their output",
    page="cron.md",
    tables={"cron": MIGRATIONS},
    audit_actions=(CRON_ADD, CRON_EDIT, CRON_REMOVE, CRON_ENABLE, CRON_DISABLE, CRON_EXECUTE),
    audit_sources=(CRON,),
    commands=(FeatureCommand("cron", "add, list, run and follow scheduled jobs"),),
    live=(LiveTopic("cron", "cron"),),
    subsystems=(Subsystem("cron", "Cron", 100, "cron"),),
    provides=("schedules",),
    run_kinds=("cron",),
)
