"""The audit entries of cron jobs."""

from tocsin.core.audit.actions import ENDED_RUN, EXIT_CODE, REASON, RUN, AuditAction, AuditField, AuditSource

_JOB = AuditField("job", "the ID of the job")
_NAME = AuditField("name", "the name of the job")
_FIELDS = AuditField("fields", "the names of the fields that were changed")
_FILE = AuditField("file", "the name of the file in `cron.d` that defines the job")
_SCHEDULED_FOR = AuditField("scheduled_for", "when the run was due, `null` for one that was started by hand")
_HISTORY = AuditField("history", "`kept` or `deleted`: what became of its runs")
_TYPE = AuditField("type", "`shell`, `workflow`, `skill`, `prompt` or `message`")

CRON_ADD = AuditAction("cron.add", "A job was added.", (_JOB, _NAME, _TYPE), (_FILE,), "never its command")
CRON_EDIT = AuditAction("cron.edit", "The definition of a job was changed.", (_JOB, _NAME, _FIELDS), (_FILE,))
CRON_REMOVE = AuditAction("cron.remove", "A job was removed.", (_JOB, _NAME), (_FILE, _HISTORY))
CRON_ENABLE = AuditAction("cron.enable", "A job was enabled.", (_JOB, _NAME))
CRON_DISABLE = AuditAction("cron.disable", "A job was disabled, by a person or after failures.", (_JOB, _NAME, REASON))
CRON_EXECUTE = AuditAction(
    "cron.execute",
    "A job has run, or a run that was asked for ended before its turn.",
    (_JOB, _NAME, *ENDED_RUN, EXIT_CODE, _SCHEDULED_FOR),
    (),
    "never its output",
)

CRON = AuditSource("cron", "the scheduler of cron jobs", (RUN,))
