"""The audit entries of assistant skills."""

from tocsin.core.audit.actions import ACTOR, DURATION_MS, OK, RUN, SKILL, STATUS, AuditAction, AuditField

_TRIGGER = AuditField("trigger", "what started the run")
_FILES = AuditField("files", "how many files it looked at")
_FINDINGS = AuditField("findings", "how many findings it has")
_CHANGES = AuditField("changes", "how many files it proposes to change, or changed")
_APPLIED = AuditField("applied", "whether the changes were written at once")

SKILL_ASSIST = AuditAction(
    "skill.assist",
    "An assistant skill has looked at files. One of skill mode has an `intake.task_completed` instead.",
    (RUN, SKILL, _TRIGGER, ACTOR, STATUS, OK, DURATION_MS),
    (_FILES, _FINDINGS, _CHANGES, _APPLIED),
    "never what it found, and never a path",
)
SKILL_APPLY = AuditAction("skill.apply", "The changes that a run proposed were written.", (RUN, SKILL, _CHANGES))
