"""The audit entries of runnable skills."""

from tocsin.core.audit.actions import ENDED_RUN, EXIT_CODE, SKILL, AuditAction, AuditField

_MODE = AuditField("mode", "`sandboxed` or `standard`")
_SANDBOX = AuditField("sandbox", "in the mode `sandboxed`: `bubblewrap` or `limits`")
_SHA256 = AuditField("sha256", "checksum of the skill's files, if it ran from a snapshot")

SKILL_RUN = AuditAction(
    "skill.run",
    "A skill has run, or one of its dependencies was missing. If a cron job, a watcher, a task job or a trigger ran "
    "it, the entry of that run is the only one; a plan has an `intake.task_completed` instead.",
    (SKILL, _MODE, *ENDED_RUN, EXIT_CODE),
    (_SANDBOX, _SHA256),
    "The arguments are not recorded.",
)
