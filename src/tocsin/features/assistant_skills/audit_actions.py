"""The audit entries of assistant skills."""

from tocsin.core.audit.actions import ENDED_RUN, RUN, SKILL, AuditAction, AuditField

_FINDINGS = AuditField("findings", "number of findings")
_CHANGES = AuditField("changes", "number of files with proposed or written changes")
_APPLIED = AuditField("applied", "whether the changes were written automatically")

SKILL_ASSIST = AuditAction(
    "skill.assist",
    "An assistant skill has looked at files. If a task job or a trigger ran it, the entry of that run is the only one; "
    "a plan has an `intake.task_completed` instead.",
    (SKILL, *ENDED_RUN),
    (_FINDINGS, _CHANGES, _APPLIED),
    "The findings and paths are not recorded.",
)
SKILL_APPLY = AuditAction("skill.apply", "The changes proposed by a run were written.", (RUN, SKILL, _CHANGES))
