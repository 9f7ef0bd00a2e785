"""The audit entries of assistant skills."""

from tocsin.core.audit.actions import ENDED_RUN, RUN, SKILL, AuditAction, AuditField

_FINDINGS = AuditField("findings", "how many findings it has")
_CHANGES = AuditField("changes", "how many files it proposes to change, or changed")
_APPLIED = AuditField("applied", "whether the changes were written at once")

SKILL_ASSIST = AuditAction(
    "skill.assist",
    "An assistant skill has looked at files. If a task job or a trigger ran it, the entry of that run is the only one.",
    (SKILL, *ENDED_RUN),
    (_FINDINGS, _CHANGES, _APPLIED),
    "never what it found, and never a path",
)
SKILL_APPLY = AuditAction("skill.apply", "The changes that a run proposed were written.", (RUN, SKILL, _CHANGES))
