"""The audit entries that the gateway writes itself, and what it adds to those of others."""

from tocsin.core.audit.actions import ACTOR, CHANNEL, IP, OUTCOME, REASON, REQUEST_ID, AuditAction, AuditSource

GATEWAY = AuditSource("gateway", "a request over HTTP; with `actor` when a token was given", (IP, REQUEST_ID, ACTOR))

MSG_REJECT = AuditAction(
    "msg.reject",
    "A webhook call was not proved to come from the product. Each reason once a minute and address, 60 lines in all.",
    (CHANNEL, IP, REQUEST_ID, OUTCOME, REASON),
)
