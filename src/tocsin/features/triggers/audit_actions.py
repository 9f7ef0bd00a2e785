"""The audit entries of triggers."""

from tocsin.core.audit.actions import CHANNEL, CHAT, RUN, STATUS, AuditAction, AuditField, AuditSource

TRIGGERS = AuditSource("triggers", "a trigger, for a received message")

_RULE = AuditField("rule", "number of the rule in its file")
_PATTERN = AuditField("pattern", "pattern of the rule")
_ACTION = AuditField("action", "action of the rule")

TRIGGER_RUN = AuditAction(
    "trigger.run",
    "A trigger ran for a received message.",
    (CHANNEL, CHAT, _RULE, _PATTERN, _ACTION, RUN, STATUS),
    note="The text and captures are not recorded.",
)
