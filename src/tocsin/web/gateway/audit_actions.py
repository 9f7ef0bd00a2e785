"""The audit actions of the gateway, and the metadata that it adds to other entries."""

from tocsin.core.audit.actions import ACTOR, CHANNEL, IP, OUTCOME, REASON, REQUEST_ID, AuditAction, AuditSource

GATEWAY = AuditSource("gateway", "an HTTP request; `actor` is set if a token was sent", (IP, REQUEST_ID, ACTOR))

MSG_REJECT = AuditAction(
    "msg.reject",
    "A webhook request could not be verified. Each reason is recorded once a minute per address, and at "
    "most 60 times a minute in total.",
    (CHANNEL, IP, REQUEST_ID, OUTCOME, REASON),
)
