"""The audit entry of a message that went out or was refused, whichever way it took."""

from collections.abc import Mapping

from tocsin.core.audit.trail import AuditTrail
from tocsin.messaging.outbound.audit_actions import MSG_SEND


def record_send(audit: AuditTrail, outcome: str, comment: str, *, source: str, metadata: Mapping[str, object]) -> None:
    """Write one `msg.send`; `metadata` has at least what every entry of that action has."""
    detail = f"{outcome} on {metadata['channel']} to {metadata['target']}{comment}"
    audit.record(MSG_SEND, detail, source=source, metadata=metadata)
