"""The audit entries of runnable skills."""

from tocsin.core.audit.actions import ACTOR, DURATION_MS, OK, RUN, SKILL, STATUS, AuditAction, AuditField

_MODE = AuditField("mode", "`sandboxed` or `standard`")
_SANDBOX = AuditField("sandbox", "in the mode `sandboxed`: `bubblewrap` or `limits`")
_SHA256 = AuditField("sha256", "the checksum of the skill's files, if it ran from a snapshot")
_TRIGGER = AuditField("trigger", "what started the run")
_EXIT_CODE = AuditField("exit_code", "of the process, `null` if it has none")

SKILL_RUN = AuditAction(
    "skill.run",
    "A skill has run, or one of its dependencies was missing. One that a trigger ran has a `trigger.run` instead, "
    "one of skill mode an `intake.task_completed`.",
    (RUN, SKILL, _MODE, _TRIGGER, ACTOR, STATUS, OK, _EXIT_CODE, DURATION_MS),
    (_SANDBOX, _SHA256),
    "never its arguments",
)
