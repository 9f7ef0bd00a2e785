"""The audit actions of the gateway, and the metadata that it adds to other entries."""

from tocsin.core.audit.actions import ACTOR, CHANNEL, IP, OUTCOME, REASON, REQUEST_ID, AuditAction, AuditSource

GATEWAY = AuditSource("gateway", "a request over HTTP; with `actor` when a token was given", (IP, REQUEST_ID, ACTOR))

MSG_REJECT = AuditAction(
    "msg.reject",
    "A webhook call could not be verified. Each reason is recorded once a minute for an address, 60 lines in all.",
    (CHANNEL, IP, REQUEST_ID, OUTCOME, REASON),
)
