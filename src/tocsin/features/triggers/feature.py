"""The declaration of triggers."""

from tocsin.core.audit.actions import CHANNEL, CHAT, RUN, STATUS, AuditAction, AuditField, AuditSource
from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile

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

FEATURE = Feature(
    name="triggers",
    package=__package__,
    summary="rules that run a command, a skill or a model for a received message",
    page="triggers.md",
    files=(WrittenFile("triggers", "triggers.yaml", "rules for received messages", f"{__package__}.rules:RULES"),),
    audit_actions=(TRIGGER_RUN,),
    audit_sources=(TRIGGERS,),
    commands=(FeatureCommand("triggers", "list the trigger rules, and show which one matches a message"),),
    subsystems=(Subsystem("messaging", "Messaging"),),
    run_kinds=("trigger",),
)
