"""The audit entries of triggers."""

from tocsin.core.audit.actions import CHANNEL, CHAT, RUN, STATUS, AuditAction, AuditField, AuditSource

TRIGGERS = AuditSource("triggers", "a trigger, for a received message")

_RULE = AuditField("rule", "the number of the rule in its file")
_PATTERN = AuditField("pattern", "the rule's pattern")
_ACTION = AuditField("action", "what the rule does")

TRIGGER_RUN = AuditAction(
    "trigger.run",
    "A trigger has run for a received message.",
    (CHANNEL, CHAT, _RULE, _PATTERN, _ACTION, RUN, STATUS),
    note="neither text nor captures",
)
