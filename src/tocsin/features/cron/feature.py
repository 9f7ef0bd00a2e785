"""The declaration of cron."""

from tocsin.core.audit.actions import ENDED_RUN, EXIT_CODE, REASON, RUN, AuditAction, AuditField, AuditSource
from tocsin.features.contract import Feature, FeatureCommand, LiveTopic, Subsystem, WrittenFile
from tocsin.features.cron.schema import MIGRATIONS

_JOB = AuditField("job", "ID of the job")
_NAME = AuditField("name", "name of the job")
_FIELDS = AuditField("fields", "names of the changed fields")
_FILE = AuditField("file", "name of the file in `cron.d` that defines the job")
_SCHEDULED_FOR = AuditField("scheduled_for", "scheduled time of the run, or `null` for a manual run")
_HISTORY = AuditField("history", "`kept` or `deleted`: whether its runs were kept")
_TYPE = AuditField("type", "`shell`, `workflow`, `skill`, `prompt` or `message`")

CRON_ADD = AuditAction("cron.add", "A job was added.", (_JOB, _NAME, _TYPE), (_FILE,), "The command is not recorded.")
CRON_EDIT = AuditAction("cron.edit", "The definition of a job was changed.", (_JOB, _NAME, _FIELDS), (_FILE,))
CRON_REMOVE = AuditAction("cron.remove", "A job was removed.", (_JOB, _NAME), (_FILE, _HISTORY))
CRON_ENABLE = AuditAction("cron.enable", "A job was enabled.", (_JOB, _NAME))
CRON_DISABLE = AuditAction("cron.disable", "A job was disabled, by a person or after failures.", (_JOB, _NAME, REASON))
CRON_EXECUTE = AuditAction(
    "cron.execute",
    "A job ran, or a requested run ended before it started.",
    (_JOB, _NAME, *ENDED_RUN, EXIT_CODE, _SCHEDULED_FOR),
    (),
    "The output is not recorded.",
)

CRON = AuditSource("cron", "the cron scheduler", (RUN,))

FEATURE = Feature(
    name="cron",
    package=__package__,
    summary="scheduled jobs, with a record of every run and delivery of their output",
    page="cron.md",
    files=(WrittenFile("cron_job", "cron.d/*.yaml", "a cron job", f"{__package__}.model:JOB"),),
    tables={"cron": MIGRATIONS},
    audit_actions=(CRON_ADD, CRON_EDIT, CRON_REMOVE, CRON_ENABLE, CRON_DISABLE, CRON_EXECUTE),
    audit_sources=(CRON,),
    commands=(FeatureCommand("cron", "add, list, run and follow scheduled jobs"),),
    live=(LiveTopic("cron", "cron"),),
    subsystems=(Subsystem("cron", "Cron", 100, "cron"),),
    provides=("schedules",),
    run_kinds=("cron",),
)
