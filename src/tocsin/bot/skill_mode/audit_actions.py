"""The audit actions of skill mode."""

from tocsin.core.audit.actions import CHAT, OK, OUTCOME, RUN, SKILL, AuditAction, AuditField, AuditSource

INTAKE = AuditSource("intake", "the bot, when it runs skills")

_PLAN = AuditField("plan", "ID of the plan")

INTAKE_CONFIRMED = AuditAction(
    "intake.confirmed",
    "A person confirmed a plan of skill mode or of `tocsin intake`, where `chat` is `null`.",
    (_PLAN, CHAT),
)
INTAKE_CANCELLED = AuditAction(
    "intake.cancelled", "A person cancelled a plan of skill mode or of `tocsin intake`.", (_PLAN, CHAT)
)
INTAKE_TASK_COMPLETED = AuditAction(
    "intake.task_completed", "One requirement of a plan was executed.", (_PLAN, CHAT, SKILL, OK, RUN)
)
INTAKE_PRESS_DENIED = AuditAction(
    "intake.press_denied",
    "A button of a plan was rejected: the plan belongs to another chat, has ended, or is older than a day.",
    (_PLAN, CHAT, OUTCOME),
)
